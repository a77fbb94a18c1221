//go:build unix

package probe

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// A supervisee is a running agent, in a process group of its own.
type supervisee struct{ pid int }

// supervised starts the agent.
func supervised(args []string) (*supervisee, error) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	syscall.CloseOnExec(tetherFile)
	syscall.CloseOnExec(reportFile)
	adopt()
	path, err := exec.LookPath(args[0])
	if err != nil {
		return nil, err
	}
	p, err := os.StartProcess(path, args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return nil, err
	}
	return &supervisee{p.Pid}, nil
}

// wait waits for the agent's first process, and for orphans that end before.
func (s *supervisee) wait() report {
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return report{Error: "its end could not be seen: " + err.Error()}
		case pid != s.pid:
		case status.Signaled():
			return report{Code: 128 + int(status.Signal()), Signal: signalName(status.Signal())}
		case status.Exited():
			return report{Code: status.ExitStatus()}
		}
	}
}

var signalNames = map[syscall.Signal]string{syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGHUP: "SIGHUP", syscall.SIGILL: "SIGILL",
	syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL", syscall.SIGPIPE: "SIGPIPE", syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGTERM: "SIGTERM"}

func signalName(s syscall.Signal) string {
	if name := signalNames[s]; name != "" {
		return name
	}
	return s.String()
}

// kill kills the agent's group and whatever else is below this process. A process that
// forks while it is killed is stopped first, so that it cannot run ahead.
func (s *supervisee) kill() {
	syscall.Kill(-s.pid, syscall.SIGKILL)
	for range 3 {
		for _, pid := range below(anyChild) {
			syscall.Kill(pid, syscall.SIGSTOP)
		}
	}
	for _, pid := range below(anyChild) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// clear ends whatever the agent's first process has left, and adds to strays what has
// left the agent's group. Threads that wait in the kernel cannot be ended, so it gives up
// after clearTime.
func (s *supervisee) clear(strays map[int]bool) {
	for end := time.Now().Add(clearTime); !s.nothingLeft() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, pid := range s.outside() {
			strays[pid] = true
		}
		s.kill()
	}
}

// wake lets a process go on that was stopped.
func wake(pid int) { syscall.Kill(pid, syscall.SIGCONT) }

// sweep ends what is left of an agent whose supervisor has been killed, and returns how
// many processes that were. On Linux they are the children of this process that are no
// supervisors, and what is below those; elsewhere only the agent's group is known.
func sweep(group int) int {
	if !canSee {
		if group > 0 {
			syscall.Kill(-group, syscall.SIGKILL)
		}
		return 0
	}
	swept := map[int]bool{}
	for end := time.Now().Add(clearTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		supervisors.Lock()
		left := below(func(child int) bool { return !supervisors.of[child] })
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for _, pid := range left {
				swept[pid] = true
				syscall.Kill(pid, sig)
			}
		}
		supervisors.Unlock()
		for pid := range swept {
			syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // if it has become a child of this process
		}
		if len(left) == 0 {
			break
		}
	}
	return len(swept)
}

// anyChild says that all processes below this one count.
func anyChild(int) bool { return true }

// nothingLeft collects the children that have ended, and reports whether nothing of the
// agent is left. Where orphans become children of this process, that is known without a
// look at all processes: none is left if there is no child.
func (s *supervisee) nothingLeft() bool {
	for {
		switch pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
		case err == syscall.EINTR || pid > 0:
		case err != nil: // no children
			return canSee || syscall.Kill(-s.pid, 0) != nil
		default:
			return false
		}
	}
}

// outside returns the processes of the agent that are there and have left its group:
// they outlive an agent that is ended.
func (s *supervisee) outside() []int {
	return slices.DeleteFunc(below(anyChild), func(pid int) bool {
		group, err := syscall.Getpgid(pid)
		return err != nil || group == s.pid
	})
}

// left returns the processes of the agent that are still there. Zombies are not.
func (s *supervisee) left() []int {
	switch {
	case s.nothingLeft():
		return nil
	case canSee:
		return below(anyChild)
	}
	return []int{s.pid}
}
