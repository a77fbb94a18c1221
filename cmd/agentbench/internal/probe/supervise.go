package probe

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
)

// Word is the first argument of the program when it supervises an agent: see
// [Supervise].
const Word = "__supervise"

// The files that a supervisor gets beside the standard ones. It kills the agent when
// the first one ends, and writes its reports to the second one.
const (
	tetherFile = 3
	reportFile = 4
)

// A report is a line that the supervisor writes: first one when the agent has started,
// one when it has ended, then one when nothing of it is left.
type report struct {
	Group  int    `json:"group,omitempty"` // the agent's process group: it has started
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	Error  string `json:"error,omitempty"` // why the agent could not be started
	Gone   bool   `json:"gone,omitempty"`  // nothing is left
	Strays int    `json:"strays,omitempty"`
}

// Supervise runs an agent and waits until it has ended, and then ends whatever it has
// left. It is the whole of a process of its own, below which all processes of the
// agent are. args are the command. It returns the exit code, which says nothing of the
// agent: that stands in the reports.
func Supervise(args []string) int {
	if len(args) == 0 {
		return 2
	}
	tether, out := os.NewFile(tetherFile, "tether"), os.NewFile(reportFile, "report")
	if tether == nil || out == nil {
		return 2
	}
	reports := json.NewEncoder(out)
	s, err := supervised(args)
	if err != nil {
		reports.Encode(report{Error: reason(err)})
		return 0
	}
	reports.Encode(report{Group: s.pid})
	var once sync.Once
	strays := map[int]bool{}
	note := func(left []int) {
		once.Do(func() {
			for _, pid := range left {
				strays[pid] = true
			}
		})
	}
	var ended atomic.Bool
	go func() {
		io.Copy(io.Discard, tether) // until the probe ends it, or ends itself
		if ended.Load() {
			return // what is left is being ended
		}
		note(s.outside())
		s.kill()
	}()
	end := s.wait()
	ended.Store(true)
	note(s.left()) // before the probe hears of the end and cuts the tether
	reports.Encode(end)
	s.clear(strays)
	reports.Encode(report{Gone: true, Strays: len(strays)})
	return 0
}

// reason returns why a command could not be started, without its path.
func reason(err error) string {
	var at *exec.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}
