package trajectories

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// inspect is a log of Inspect: JSON, or the zip file .eval with a file a sample. A
// sample is a run; its first score is the label where it is C or I, 1 or 0, or true or
// false.
var inspect = format{
	name:  "inspect",
	looks: `{"version": 2, "eval": {…}, "samples": [{"messages": […], "scores": {…}}, …]}, or a .eval file`,
	ends:  []string{".eval"},
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsObject(keys["eval"]) && (wire.IsArray(keys["samples"]) || keys["status"] != nil)
	},
	read: readInspect,
}

// unzipped returns a .eval file as the JSON that a log has in one file.
func unzipped(data []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("broken zip file: %w", err)
	}
	log := map[string]json.RawMessage{}
	var samples []json.RawMessage
	left := maxFile
	for _, f := range z.File {
		sample := strings.HasPrefix(f.Name, "samples/") && strings.HasSuffix(f.Name, ".json")
		if !sample && f.Name != "header.json" {
			continue
		}
		content, err := unzipOne(f, left)
		if err != nil {
			return nil, fmt.Errorf("%s in the zip file: %w", f.Name, err)
		}
		left -= len(content)
		if sample {
			samples = append(samples, content)
		} else if err := json.Unmarshal(content, &log); err != nil {
			return nil, fmt.Errorf("%s in the zip file: %w", f.Name, wrongType(err))
		}
	}
	if samples == nil && log["eval"] == nil {
		return nil, errors.New("a zip file without samples of Inspect")
	}
	if log["eval"] == nil { // a run that broke off
		log["eval"] = json.RawMessage("{}")
	}
	log["samples"], _ = json.Marshal(slices.Concat([]json.RawMessage{}, samples))
	return json.Marshal(log)
}

func unzipOne(f *zip.File, most int) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
		return nil, err
	case len(content) > most:
		return nil, fmt.Errorf("unpacked, the files are larger than %d MiB", maxFile>>20)
	case !json.Valid(content):
		return nil, errors.New("invalid JSON")
	}
	return content, nil
}

func readInspect(raw json.RawMessage) (all []*Trajectory, _ error) {
	log := objectOf(raw)
	samples := listOf(log["samples"])
	if len(samples) == 0 {
		return nil, nothing{errors.New("it has no samples")}
	}
	var broken brokenParts
	for i, one := range samples {
		r, err := readInspectSample(one)
		if err != nil {
			broken.add("sample", i, len(samples), err)
		}
		if r == nil {
			continue
		}
		r.Model = cmp.Or(r.Model, field(inner(log, "eval"), "model"))
		all = append(all, r)
	}
	return all, broken.orNil()
}

func readInspectSample(raw json.RawMessage) (*Trajectory, error) {
	var s struct {
		ID          json.RawMessage            `json:"id"`
		Epoch       json.RawMessage            `json:"epoch"`
		Messages    json.RawMessage            `json:"messages"`
		Pool        []json.RawMessage          `json:"message_pool"`
		Events      []json.RawMessage          `json:"events"`
		Attachments map[string]string          `json:"attachments"`
		Scores      map[string]json.RawMessage `json:"scores"`
	}
	if err := rawjson.Unmarshal(raw, &s); err != nil {
		return nil, wrongType(err)
	}
	messages := s.Messages
	if len(listOf(messages)) == 0 {
		messages = lastInspectRequest(s.Events, s.Pool)
	}
	for name, content := range s.Attachments {
		whole, _ := json.Marshal(content)
		messages = bytes.ReplaceAll(messages, []byte(`"attachment://`+name+`"`), whole)
	}
	if len(s.Attachments) > 0 && !json.Valid(messages) {
		return nil, errors.New("its attachments do not fit into its messages")
	}
	r := &Trajectory{Name: fmt.Sprintf("sample=%s,epoch=%s", wire.String(s.ID), cmp.Or(wire.String(s.Epoch), "1"))}
	if err := r.readLog("messages", messages, nil); err != nil {
		return nil, err
	}
	var names []string
	for name := range s.Scores {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch value := objectOf(s.Scores[name])["value"]; string(value) {
		case `"C"`, "1", "1.0", "true":
			r.Label = Success
			return r, nil
		case `"I"`, "0", "0.0", "false":
			r.Label = Failure
			return r, nil
		}
	}
	return r, nil
}

// lastInspectRequest returns what the last request to a model held and its answer, from
// the events of a sample. Newer logs refer to a pool of messages.
func lastInspectRequest(events, pool []json.RawMessage) json.RawMessage {
	for _, raw := range slices.Backward(events) {
		e := objectOf(raw)
		if field(e, "event") != "model" {
			continue
		}
		messages := listOf(e["input"])
		var refs [][2]int
		if json.Unmarshal(e["input_refs"], &refs) == nil {
			for _, ref := range refs {
				if ref[0] >= 0 && ref[0] <= ref[1] && ref[1] <= len(pool) {
					messages = append(messages, pool[ref[0]:ref[1]]...)
				}
			}
		}
		if choices := listOf(inner(e, "output")["choices"]); len(choices) > 0 {
			messages = append(messages, objectOf(choices[0])["message"])
		}
		all, _ := json.Marshal(messages)
		return all
	}
	return json.RawMessage("[]")
}
