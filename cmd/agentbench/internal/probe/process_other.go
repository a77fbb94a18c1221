//go:build !unix

package probe

import "os/exec"

func detach(*exec.Cmd) {}

// Supported reports whether agents can be supervised on this system.
const Supported = false
