package trajectories

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asRead returns what a reader found, for a comparison: sketches with names and lines.
func asRead(runs []*Trajectory, problems []*Problem) string {
	var b strings.Builder
	for _, r := range runs {
		fmt.Fprintf(&b, "%s:%d %s\n%s", r.Name, r.Line, r.Label, sketchWithTokens(r))
	}
	for _, p := range problems {
		fmt.Fprintf(&b, "%d %s\n", p.Kind, p.Error())
	}
	return b.String()
}

// readWhole returns what is in a file with this content, read at once.
func readWhole(data []byte) (runs []*Trajectory, problems []*Problem) {
	r := &reader{file: "x.json", names: map[string]bool{}}
	collect(r, &runs, &problems)
	r.read(data)
	return runs, problems
}

// What is read piece by piece is what is read at once, however a file is laid out and
// wherever it is cut off. Both find the same records by different ways.
func TestStreamAsWhole(t *testing.T) {
	const (
		a = `{"name":"a","messages":[{"role":"user","content":"x ] \" } \\"},{"role":"assistant","content":"[{"}]}`
		b = `{"name":"b","label":true,"messages":[{"role":"user","content":"caf\u00e9"}]}`
		c = `{"name":"c","messages":[{"role":"user","content":"c"},{"role":"tool","content":"lost"}]}`
	)
	five := []string{a, b, c, b, a}
	for name, data := range map[string]string{
		"lines":                    strings.Join(five, "\n") + "\n",
		"lines of CR LF, blank":    "\r\n\r\n" + strings.Join(five, "\r\n \r\n"),
		"behind a mark":            "\ufeff" + strings.Join(five, "\n"),
		"an array in a line":       "[" + strings.Join(five, ",") + "]\n",
		"an array, indented":       "[\n  " + strings.Join(five, ",\n  ") + "\n]\n",
		"an array of few":          "[" + a + "]",
		"an array, two in a line":  "[\n" + a + ", " + b + ",\n" + c + ", " + a + ",\n" + b + "]",
		"two arrays":               "[" + strings.Join(five, ",") + "]\n[" + strings.Join(five, ",") + "]\n",
		"an array and a run":       "[" + strings.Join(five, ",") + "]\n" + a + "\n",
		"commas too many":          "[\n" + strings.Join(five, ",\n") + ",\n,\n" + a + "]",
		"a comma too few":          "[\n" + strings.Join(five, ",\n") + "\n" + a + "]",
		"a comma at the end":       "[\n" + strings.Join(five, ",\n") + ",\n]",
		"text behind":              "[\n" + strings.Join(five, ",\n") + "\n]\n, behind it",
		"numbers":                  "[1, 2, 3, 4, 5, null, true, \"six\"]",
		"nothing in it":            "[ ]",
		"messages":                 `[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]`,
		"messages late":            `[{"type":"meta"},{"type":"meta"},{"role":"user","content":"x"}]`,
		"messages, a line each":    `{"role":"user","content":"x"}` + "\n" + `{"role":"assistant","content":"y"}`,
		"indented":                 "{\n\"messages\": [\n{\"role\": \"user\", \"content\": \"x\"}\n]\n}\n",
		"a broken line among them": a + "\n{\"name\":\n" + b + "\n",
		"a broken line first":      "{\"name\":\n" + a + "\n" + b + "\n",
		"bytes that are no UTF-8":  strings.Replace(strings.Join(five, "\n"), "lost", "l\xffst", 1),
		"the same in an array":     "[\n" + strings.Replace(strings.Join(five, ",\n"), "lost", "l\xff\xfest", 1) + "]",
		"a results file":           `{"type":"header","kind":"run"}` + "\n",
		"blank":                    " \n\t\r\n ",
		"":                         "",
	} {
		t.Run(name, func(t *testing.T) {
			for n := len(data); n >= 0; n-- {
				cut := []byte(data[:n])
				got := asRead(readBytes(&reader{file: "x.json"}, cut))
				if diff := cmp.Diff(asRead(readWhole(cut)), got); diff != "" {
					t.Fatalf("cut at %d of %d, after %q (-whole +piece by piece):\n%s", n, len(data), cut[max(0, n-30):], diff)
				}
			}
		})
	}
}

// counting counts the bytes that were read.
type counting struct {
	io.Reader
	n int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// Runs are handed out while the file is read, also from an array, and after the last
// one that is wanted nothing more is read.
func TestRunsWhileReading(t *testing.T) {
	run := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 1000) + `"}]}`
	for name, data := range map[string]string{
		"lines":    strings.Repeat(run+"\n", 1000),
		"an array": "[" + strings.Repeat(run+",\n", 999) + run + "]",
		"one line": "[" + strings.Repeat(run+", ", 999) + run + "]",
	} {
		t.Run(name, func(t *testing.T) {
			from := &counting{Reader: strings.NewReader(data)}
			runs := 0
			r := &reader{names: map[string]bool{}}
			r.yield = func(*Trajectory, *Problem) bool {
				runs++
				return runs < 3
			}
			if err := r.content(newSource(from)); err != nil || runs != 3 {
				t.Errorf("%d runs, %v, want 3", runs, err)
			}
			if from.n > 3*64<<10 { // two buffers, or three where the file is begun again
				t.Errorf("read %d bytes for 3 runs of 1 KB", from.n)
			}
		})
	}
}

// A file that changes while it is read gives the runs that were there, and a problem
// where one is cut; never half a run.
func TestFileChanges(t *testing.T) {
	line := func(i int) string {
		return fmt.Sprintf(`{"name":"r%d","messages":[{"role":"user","content":"%s"}]}`+"\n", i, strings.Repeat("x", 1000))
	}
	var lines strings.Builder
	for i := range 200 {
		lines.WriteString(line(i))
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(path string, flag int, text string) {
		f, err := os.OpenFile(path, os.O_WRONLY|flag, 0o600)
		must(err)
		_, err = f.WriteString(text)
		must(errors.Join(err, f.Close()))
	}
	for name, c := range map[string]struct {
		change  func(path string)
		runs    func(n int) bool
		problem string // "" = none
	}{
		"grows":              {func(path string) { write(path, os.O_APPEND, line(200)) }, func(n int) bool { return n == 201 }, ""},
		"grows by half":      {func(path string) { write(path, os.O_APPEND, line(200)[:500]) }, func(n int) bool { return n == 200 }, "invalid JSON: unexpected end of JSON input (line 201,"},
		"is cut short":       {func(path string) { must(os.Truncate(path, int64(150*len(line(100))+500))) }, func(n int) bool { return n >= 150 && n < 152 }, "invalid JSON: unexpected end of JSON input (line 15"},
		"is emptied":         {func(path string) { must(os.Truncate(path, 0)) }, func(n int) bool { return n > 0 && n < 200 }, "invalid JSON: unexpected end of JSON input"},
		"is replaced":        {func(path string) { must(os.Rename(path+".new", path)) }, func(n int) bool { return n == 200 }, ""},
		"is removed":         {func(path string) { must(os.Remove(path)) }, func(n int) bool { return n == 200 }, ""},
		"becomes other text": {func(path string) { write(path, 0, strings.Repeat("not JSON at all\n", len(lines.String())/16)) }, func(n int) bool { return n > 0 && n < 200 }, "invalid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.jsonl")
			must(os.WriteFile(path, []byte(lines.String()), 0o600))
			must(os.WriteFile(path+".new", []byte(line(0)), 0o600))
			runs := 0
			var problems []*Problem
			for run, p := range (Reader{}).All(path) {
				if p != nil {
					problems = append(problems, p)
					continue
				}
				if runs++; runs == 1 {
					c.change(path)
				}
				if user := run.Runs[0].User; len(user) != 1000 {
					t.Errorf("half a run: %q", user)
				}
			}
			if !c.runs(runs) {
				t.Errorf("%d runs", runs)
			}
			if c.problem == "" && len(problems) > 0 || c.problem != "" && (len(problems) == 0 || !strings.Contains(problems[0].Error(), c.problem)) {
				t.Errorf("problems %.300v, want %q", problems, c.problem)
			}
		})
	}
}

// A file that is compressed and broken off gives the runs before the break.
func TestBrokenGzipStream(t *testing.T) {
	var plain, zipped bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&plain, `{"name":"r%d","messages":[{"role":"user","content":"%x"}]}`+"\n", i, i*i*i*7919)
	}
	z := gzip.NewWriter(&zipped)
	z.Write(plain.Bytes())
	z.Close()
	runs, problems := readText(t, Reader{}, "x.jsonl.gz", zipped.String()[:zipped.Len()*3/4])
	if len(runs) < 1000 || len(runs) >= 2000 || len(problems) != 1 || problems[0].Text != "broken gzip: unexpected EOF" {
		t.Errorf("%d runs, problems %v", len(runs), problems)
	}
}
