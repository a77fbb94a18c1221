//go:build linux && figures

package probe

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes/serve"
)

// A thousand probes, one after another, leave no process, port, folder or descriptor.
// The log says what a trial costs beside the agent itself; the goal is 50 ms.
func TestThousandProbes(t *testing.T) {
	s := embedded(t, "healthy/only-an-answer")
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	median := func(times []time.Duration) time.Duration {
		slices.Sort(times)
		return times[len(times)/2]
	}
	server, err := serve.New([]serve.Scenario{{Name: s.ID(), Script: &s.Script}}, serve.Options{Speed: 1000})
	if err != nil {
		t.Fatal(err)
	}
	bare := httptest.NewServer(server)
	var alone []time.Duration
	for range 200 {
		cmd := exec.Command(os.Args[0], agentWord, "naive")
		cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+bare.URL+"/v1")
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		alone = append(alone, time.Since(began))
	}
	bare.Close()
	a := goAgent(t, "naive")
	a.ScratchDir, a.ScratchHome = true, true
	own := &Tool{Name: "read_file"}
	open := func() int { return entries(t, "/proc/self/fd") }
	if _, err := a.trial(t.Context(), s, 1, own); err != nil { // which opens what stays open
		t.Fatal(err)
	}
	before, folders := open(), entries(t, temp)
	var probed []time.Duration
	for i := range 1000 {
		began := time.Now()
		saw, err := a.trial(t.Context(), s, uint64(i+1), own)
		if err != nil || saw.strays > 0 || len(saw.o.Requests) != 1 {
			t.Fatalf("trial %d: %v %+v", i, err, saw)
		}
		probed = append(probed, time.Since(began))
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors are open, %d were: ports are among them", after, before)
	}
	if after := entries(t, temp); after != folders {
		t.Errorf("%d folders are left, %d were there", after, folders)
	}
	if n := running(agentWord); n > 0 {
		t.Errorf("%d processes are left", n)
	}
	t.Logf("a trial takes %v, the agent alone %v: %v is the probe's own", median(probed), median(alone), median(probed)-median(alone))
}

func entries(t *testing.T, folder string) int {
	t.Helper()
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
