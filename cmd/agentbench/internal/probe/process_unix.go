//go:build unix

package probe

import (
	"os/exec"
	"syscall"
)

// detach gives the supervisor a session of its own: an interrupt of the terminal does
// not reach the agent, and the agent cannot wait for input from it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Supported reports whether agents can be supervised on this system.
const Supported = true
