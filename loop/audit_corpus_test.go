package loop_test

import (
	"path/filepath"
	"testing"

	"github.com/agentbench-go/agentbench/loop/audit"
)

// What somebody wrote by hand as right is right.
func TestAuditSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/machine/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range files {
		s := readSession(t, file)
		if vs := audit.Check(s.cfg, s.task, s.tools, s.trace); len(vs) > 0 {
			t.Errorf("%s: found %v", file, vs)
		}
	}
}

// The audit and the machine share no code, so where they agree on what nobody wrote
// down beforehand, both are probably right.
func TestAuditWildWorlds(t *testing.T) {
	for seed := range uint64(1000) {
		s, trace := wildTrace(t, seed)
		if vs := audit.Check(s.cfg, s.task, s.tools, trace); len(vs) > 0 {
			t.Fatalf("seed %d, config %+v, task %+v\n%s%v", seed, s.cfg, s.task, trace, vs)
		}
	}
}
