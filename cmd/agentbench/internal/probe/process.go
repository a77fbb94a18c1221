package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
)

// A process is a running agent below its supervisor.
type process struct {
	cmd      *exec.Cmd
	tether   *os.File // the supervisor kills the agent when it is closed
	stdout   tail
	stderr   tail
	group    int           // the agent's process group, 0 = it has not started
	ended    chan report   // the end of the agent's first process
	gone     chan struct{} // nothing of the agent is left
	strays   int           // processes that outlived the agent; valid once gone
	endOnce  sync.Once
	closeOne sync.Once
}

// A command is what to start, and where.
type command struct {
	args []string
	dir  string
	env  []string
}

// waitDelay bounds how long the pipes of an agent are read after its end, in case a
// process that was not found holds them.
const waitDelay = 2 * time.Second

// start starts an agent below a supervisor, which is this program again.
func start(c command) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	tetherEnd, tether, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer tetherEnd.Close()
	reports, reportEnd, err := os.Pipe()
	if err != nil {
		tether.Close()
		return nil, err
	}
	defer reportEnd.Close()
	p := &process{tether: tether, ended: make(chan report, 1), gone: make(chan struct{})}
	p.cmd = exec.Command(self, append([]string{Word}, c.args...)...)
	p.cmd.Args[0] = os.Args[0] // a program of several names goes by it
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = c.dir, c.env, &p.stdout, &p.stderr
	p.cmd.ExtraFiles = []*os.File{tetherEnd, reportEnd}
	p.cmd.WaitDelay = waitDelay
	detach(p.cmd)
	adopting.Do(adopt)
	supervisors.Lock()
	err = p.cmd.Start()
	if err == nil {
		supervisors.of[p.cmd.Process.Pid] = true
	}
	supervisors.Unlock()
	if err != nil {
		tether.Close()
		reports.Close()
		return nil, err
	}
	go p.follow(reports)
	return p, nil
}

// What an agent leaves when it kills its supervisor becomes a child of this process, in
// which all children but the supervisors are such orphans.
var (
	adopting    sync.Once
	supervisors = struct {
		sync.Mutex
		of map[int]bool // those that have not ended
	}{of: map[int]bool{}}
)

// follow reads the supervisor's reports until it has ended.
func (p *process) follow(reports *os.File) {
	defer reports.Close()
	lines, cleared := json.NewDecoder(reports), false
	for {
		var r report
		if err := lines.Decode(&r); err != nil {
			break
		}
		switch {
		case r.Group > 0:
			p.group = r.Group
			continue
		case r.Gone:
			p.strays, cleared = r.Strays, true
			continue
		}
		p.endOnce.Do(func() { p.ended <- r })
	}
	p.cmd.Wait() // its error says how the supervisor ended, and that its pipes were cut
	supervisors.Lock()
	delete(supervisors.of, p.cmd.Process.Pid)
	supervisors.Unlock()
	if !cleared {
		p.strays += sweep(p.group)
	}
	p.endOnce.Do(func() { p.ended <- report{Error: "the process that watches it was killed"} })
	p.cut()
	close(p.gone)
}

// cut cuts the tether: the supervisor kills whatever there still is.
func (p *process) cut() { p.closeOne.Do(func() { p.tether.Close() }) }

// kill ends the agent and waits until nothing of it is left. An agent may stop its
// supervisor: it is woken, and if that does not help it is killed.
func (p *process) kill() {
	p.cut()
	awake, patience := time.NewTicker(wakeEvery), time.NewTimer(clearTime+waitDelay)
	defer awake.Stop()
	defer patience.Stop()
	for {
		select {
		case <-p.gone:
			return
		case <-awake.C:
			wake(p.cmd.Process.Pid)
		case <-patience.C:
			p.cmd.Process.Kill()
		}
	}
}

// wakeEvery is how often a supervisor that takes long is woken.
const wakeEvery = 100 * time.Millisecond

// clearTime bounds how long the processes of an agent are killed.
const clearTime = 10 * time.Second

// says returns the last lines that the agent wrote: those that name a reason, else those
// of exceptions, or else the last ones, of its standard error before its standard output.
func (p *process) says() []string {
	said, answered := p.stderr.lines(reasonLines), p.stdout.lines(shownLines)
	for _, words := range []*regexp.Regexp{reasonWords, exceptions} {
		for _, all := range [][]string{said, answered} {
			var found []string
			for _, line := range all {
				if words.MatchString(line) {
					found = append(found, line)
				}
			}
			if len(found) > 0 {
				return found[max(len(found)-shownLines, 0):]
			}
		}
	}
	if len(said) > 0 {
		return said[max(len(said)-shownLines, 0):]
	}
	return answered
}

// Among the warnings, sums and details that agents end with, reasonWords fits lines that
// say why one stopped, and exceptions those of what it did not catch.
var (
	reasonWords = regexp.MustCompile(`(?i)\b(loop|repeat(ed|ing|s)?|stuck|maximum|max|limits?|exceed(s|ed)?|gave up|giving up|too many|identical|mistakes?)\b`)
	exceptions  = regexp.MustCompile(`(?i)^[\w.$]*(error|exception)\b[^:]{0,40}: `)
)

// reasonLines is how many of the last lines are searched for a reason.
const reasonLines = 20

// shownLines is how many of the agent's last lines are shown.
const shownLines = 2

// keptBytes is how much of the end of an agent's output is kept.
const keptBytes = 64 << 10

// A tail keeps the end of what is written to it. Any number of goroutines may use it.
type tail struct {
	mu  sync.Mutex
	end []byte
	n   int64 // bytes in all
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += int64(len(b))
	if len(b) >= keptBytes {
		t.end = append(t.end[:0], b[len(b)-keptBytes:]...)
		return len(b), nil
	}
	if over := len(t.end) + len(b) - keptBytes; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	t.end = append(t.end, b...)
	return len(b), nil
}

// escapes are what a terminal does not show: colours, movements of the cursor, titles.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])`)

// noise fits lines beside the message of an error, and warnings.
var noise = regexp.MustCompile(`^(Node\.js v|throw |file:///|Traceback )|Warning: `)

// lines returns up to n of the last lines that are not blank, and no frames of a stack
// (they are indented), brackets of an object or warnings if there are others.
func (t *tail) lines(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all, plain []string
	end := t.end
	if i := bytes.IndexByte(end, '\n'); t.n > int64(len(end)) && i >= 0 {
		end = end[i+1:] // without the rest of a line
	}
	for line := range bytes.Lines(end) {
		line = bytes.TrimRight(escapes.ReplaceAll(line, nil), "\r\n")
		line = line[bytes.LastIndexByte(line, '\r')+1:] // progress that was written over
		s := strings.TrimSpace(string(line))
		if s == "" {
			continue
		}
		all = append(all, s)
		if line[0] != ' ' && line[0] != '\t' && !noise.MatchString(s) && strings.ContainsFunc(s, unicode.IsLetter) {
			plain = append(plain, s)
		}
	}
	if len(plain) > 0 {
		all = plain
	}
	return all[max(len(all)-n, 0):]
}

var _ io.Writer = (*tail)(nil)

// Find returns an error if a command cannot be started from a folder.
func Find(name, dir string) error {
	if name == "" {
		return errors.New("it is empty")
	}
	if strings.ContainsRune(name, os.PathSeparator) && dir != "" && name[0] != os.PathSeparator {
		name = dir + string(os.PathSeparator) + name
	}
	_, err := exec.LookPath(name)
	if err != nil {
		return errors.New(reason(err))
	}
	return nil
}
