//go:build unix

package cli

import "syscall"

// openFileLimit returns how many files the program may have open, 0 = unknown.
func openFileLimit() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur)
}
