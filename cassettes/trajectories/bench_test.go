package trajectories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios"
)

// BenchmarkReplay measures a file of 200 runs of 20 calls each: a bare decode of its JSON,
// reading it, and reading and replaying it under a preset.
func BenchmarkReplay(b *testing.B) {
	path := filepath.Join(b.TempDir(), "runs.jsonl")
	var file bytes.Buffer
	for run := range 200 {
		fmt.Fprintf(&file, `{"name":"r%d","label":"success","messages":[{"role":"user","content":"do it"}`, run)
		for call := range 20 {
			fmt.Fprintf(&file, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"/src/%d.go\",\"from\":%d}"}}]},{"role":"tool","tool_call_id":"c%d","content":%q}`,
				call, call, run, call, strings.Repeat("a line of a file\n", 60))
		}
		file.WriteString(`,{"role":"assistant","content":"done"}]}` + "\n")
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	v, err := scenarios.LoadVariant("hpd-agent")
	if err != nil {
		b.Fatal(err)
	}
	each := func(name string, work func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				if err := work(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	each("decode", func() error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(data) {
			var run any
			if err := json.Unmarshal(line, &run); err != nil {
				return err
			}
		}
		return nil
	})
	each("read", func() error {
		if runs, problems := Read(path, ""); len(runs) != 200 || len(problems) > 0 {
			return fmt.Errorf("%d runs, problems %v", len(runs), problems)
		}
		return nil
	})
	each("replay", func() error {
		runs, _ := Read(path, "")
		return Replay(b.Context(), slices.Values(runs), []scenarios.Variant{v}, 1, func(*scenarios.Result) error { return nil })
	})
}
