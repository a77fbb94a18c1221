//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package session

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openLocked opens a file and locks it. It returns [ErrInUse] if the file is locked.
// flag is 0 or [os.O_CREATE].
func openLocked(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	switch {
	case err == syscall.EWOULDBLOCK:
		err = fmt.Errorf("%s: %w", path, ErrInUse)
	case err != nil:
		err = fmt.Errorf("%s: locking the file: %w", path, err)
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}
