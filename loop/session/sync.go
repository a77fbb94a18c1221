//go:build !windows

package session

import (
	"errors"
	"os"
	"syscall"
)

// syncFolder waits until the entries of a folder are on the disk. It does nothing on
// a file system that cannot do so.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
