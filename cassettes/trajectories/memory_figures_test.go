//go:build figures

package trajectories

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Ten times as many runs take no more memory: what is alive at most after a collection,
// looked at two hundred times, while a folder, JSON Lines, an array and shapes are
// replayed.
func TestFlatMemory(t *testing.T) {
	v, err := scenarios.LoadVariant("recommended")
	if err != nil {
		t.Fatal(err)
	}
	run := func(i int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"name":"r%d","label":%t,"messages":[{"role":"user","content":"task %d"}`, i, i%2 == 0, i/4)
		for c := range 10 {
			fmt.Fprintf(&b, `,{"role":"assistant","tool_calls":[{"id":"c%d","function":{"name":"read","arguments":"{\"n\":%d}"}}]},{"role":"tool","tool_call_id":"c%d","content":%q}`, c, c*i, c, strings.Repeat("a line\n", 50))
		}
		return b.String() + "]}"
	}
	write := map[string]func(to string, n int) error{
		"folder": func(to string, n int) error {
			for i := range n {
				if err := os.WriteFile(filepath.Join(to, fmt.Sprint(i, ".json")), []byte(run(i)), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		"lines": func(to string, n int) error {
			var b bytes.Buffer
			for i := range n {
				b.WriteString(run(i) + "\n")
			}
			return os.WriteFile(filepath.Join(to, "a.jsonl"), b.Bytes(), 0o600)
		},
		"array": func(to string, n int) error {
			all := make([]string, n)
			for i := range all {
				all[i] = run(i)
			}
			return os.WriteFile(filepath.Join(to, "a.json"), []byte("["+strings.Join(all, ",\n")+"]"), 0o600)
		},
		"shapes": func(to string, n int) error {
			var b bytes.Buffer
			for i := range n {
				fmt.Fprintf(&b, "%d success task=%d u a1=1 b%d=2 b3=3 a1=1 c2=4 c%d=5 .\n", i+1, i/4+1, i+1, i+1)
			}
			return os.WriteFile(filepath.Join(to, "a.shapes"), b.Bytes(), 0o600)
		},
	}
	most := func(t *testing.T, folder string, n int) (most uint64) {
		var count reports.ReplayCount
		seen := 0
		files := NewRecordings(Reader{}, []string{folder}, nil)
		err := Replay(t.Context(), files.All(), []scenarios.Variant{v}, 1, func(r *scenarios.Result) error {
			count.Add(r)
			if seen++; seen%(n/200) == 0 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
			return nil
		})
		if problems := files.Problems(); err != nil || len(problems) > 0 || count.Replay(0).Runs != n {
			t.Fatalf("%d runs, %v, problems %.200v", count.Replay(0).Runs, err, problems)
		}
		return most
	}
	for name, make := range write {
		t.Run(name, func(t *testing.T) {
			var got [2]uint64
			for i, n := range []int{1000, 10_000} {
				folder := t.TempDir()
				if err := make(folder, n); err != nil {
					t.Fatal(err)
				}
				got[i] = most(t, folder, n)
			}
			const slack = 6 << 20 // names of files and labels, and the words of runs that equal another
			t.Logf("%.1f MB for 1,000 runs, %.1f MB for 10,000", float64(got[0])/1e6, float64(got[1])/1e6)
			if got[1] > got[0]+slack {
				t.Errorf("%d bytes for 1,000 runs, %d for 10,000", got[0], got[1])
			}
		})
	}
}

// A folder of twenty thousand tiny files, one of which is cut short in the middle, and a
// line of 50 MB are read to the end.
func TestManyFilesAndALongLine(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const n = 20_000
	for i := range n {
		text := fmt.Sprintf(`[{"role":"user","content":"%d"},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}]`, i)
		if i == n/2 {
			text = text[:60]
		}
		write(fmt.Sprintf("%05d.json", i), text)
	}
	long := strings.Repeat("a long line ", 50<<20/12)
	write("x.jsonl", `{"messages":[{"role":"user","content":"`+long+`"}]}`+"\n"+`{"messages":[{"role":"user","content":"short"}]}`+"\n")
	files := NewRecordings(Reader{}, []string{folder}, nil)
	runs, longest := 0, 0
	for run := range files.All() {
		runs++
		longest = max(longest, len(run.Runs[0].User))
	}
	problems := files.Problems()
	if runs != n-1+2 || longest != len(long) || len(problems) != 1 || !strings.Contains(problems[0].Error(), "10000.json:1: invalid JSON: unexpected end of JSON input") {
		t.Errorf("%d runs, the longest of %d bytes, problems %.300v", runs, longest, problems)
	}
}
