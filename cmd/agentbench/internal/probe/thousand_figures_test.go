//go:build linux && figures

package probe

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes/serve"
)

// A thousand probes of tiny agents, one after another, leave no process, port, folder or
// descriptor. The log says what a trial costs beside the agent itself, in those trials
// whose agent ends at once; the goal is 50 ms.
func TestThousandProbes(t *testing.T) {
	s := embedded(t, "healthy/only-an-answer")
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp) // which also marks the processes
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
	own := &Tool{Name: "read_file"}
	kinds := []string{"naive", "naive", "crash", "leaves", "cap-10", "astray", "naive", "careful", "outside", "retries-3"}
	trial := func(i int) time.Duration {
		kind := kinds[i%len(kinds)]
		a := goAgent(t, kind)
		a.ScratchDir, a.ScratchHome = true, true
		began := time.Now()
		saw, err := a.trial(t.Context(), s, uint64(i+1), own)
		took := time.Since(began)
		if err != nil || saw.strays > 0 != (kind == "leaves") {
			t.Fatalf("trial %d of %s: %v %+v", i, kind, err, saw)
		}
		return took
	}
	open := func() int { return entries(t, "/proc/self/fd") }
	trial(0) // which opens what stays open
	before, folders := open(), entries(t, temp)
	var probed []time.Duration
	for i := range 1000 {
		if took := trial(i); kinds[i%len(kinds)] == "naive" {
			probed = append(probed, took)
		}
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors are open, %d were: ports are among them", after, before)
	}
	if after := entries(t, temp); after != folders {
		t.Errorf("%d folders are left, %d were there", after, folders)
	}
	if left := marked("TMPDIR=" + temp); len(left) > 0 {
		t.Errorf("%d processes are left: %q", len(left), left)
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

// marked returns the commands of other processes that were started with a variable,
// whoever their parents are.
func marked(variable string) (commands []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), variable) || filepath.Dir(path) == "/proc/"+strconv.Itoa(os.Getpid()) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		commands = append(commands, strings.ReplaceAll(string(command), "\x00", " "))
	}
	return commands
}
