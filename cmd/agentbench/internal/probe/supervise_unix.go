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
		for _, pid := range below() {
			syscall.Kill(pid, syscall.SIGSTOP)
		}
	}
	for _, pid := range below() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// clearTime bounds how long clear tries.
const clearTime = 10 * time.Second

// clear ends whatever the agent's first process has left, and adds to strays what has
// left the agent's group. Threads that wait in the kernel cannot be ended, so it gives up
// after clearTime.
func (s *supervisee) clear(strays map[int]bool) {
	for end := time.Now().Add(clearTime); time.Now().Before(end); {
		left := s.left()
		if len(left) == 0 {
			break
		}
		for _, pid := range s.outside() {
			strays[pid] = true
		}
		s.kill()
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if err != nil || pid <= 0 {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// outside returns the processes of the agent that are there and have left its group:
// they outlive an agent that is ended.
func (s *supervisee) outside() []int {
	return slices.DeleteFunc(below(), func(pid int) bool {
		group, err := syscall.Getpgid(pid)
		return err != nil || group == s.pid
	})
}

// left returns the processes of the agent that are still there. Zombies are not.
func (s *supervisee) left() []int {
	left := below()
	if syscall.Kill(-s.pid, 0) == nil && !slices.Contains(left, s.pid) && len(left) == 0 && !canSee {
		left = append(left, s.pid)
	}
	return left
}
