package trajectories

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLabels bounds a file of labels, in bytes.
const maxLabels = 16 << 20

// label labels the trajectories that have no label from a file beside them or in
// the folder above: labels.json, an object from names to labels, or labels.csv,
// with the columns episode_id (or name) and label. The name is the one that the
// source gives a trajectory; for a trajectory alone in its file it may also be the
// file's name up to the first dot. Files of another shape are ignored.
func (r *reader) label(folder string) {
	if !slices.ContainsFunc(r.trajectories, func(rec *Trajectory) bool { return rec.Label == Unlabelled }) {
		return
	}
	labels := labelsFor(folder)
	stem, _, _ := strings.Cut(filepath.Base(r.file), ".")
	for _, rec := range r.trajectories {
		said := labels[rec.key]
		if said == "" && len(r.trajectories) == 1 {
			said = labels[stem]
		}
		if rec.Label == Unlabelled && said != "" {
			rec.Label = labelOf(slices.Contains(successes, strings.ToLower(said)))
		}
	}
}

// successes are the labels that mean success; any other means failure.
var successes = []string{"success", "resolved", "healthy", "pass", "true"}

// labelsFor reads the nearest labels of a folder, nil for none.
func labelsFor(folder string) map[string]string {
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		if data := labelFile(filepath.Join(dir, "labels.json")); data != nil {
			var labels map[string]string
			if json.Unmarshal(data, &labels) == nil {
				return labels
			}
		}
		if data := labelFile(filepath.Join(dir, "labels.csv")); data != nil {
			return csvLabels(data)
		}
	}
	return nil
}

func labelFile(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxLabels {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return data
}

func csvLabels(data []byte) map[string]string {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil
	}
	label := slices.Index(rows[0], "label")
	name := slices.IndexFunc(rows[0], func(column string) bool { return column == "episode_id" || column == "name" })
	if label < 0 || name < 0 {
		return nil
	}
	labels := map[string]string{}
	for _, row := range rows[1:] {
		labels[row[name]] = row[label]
	}
	return labels
}
