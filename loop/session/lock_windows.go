package session

import (
	"fmt"
	"os"
	"syscall"
)

// openLocked opens a file that nobody else has opened so. flag is 0 or
// [os.O_CREATE]. Others may read the file meanwhile.
func openLocked(path string, flag int) (*os.File, error) {
	const sharingViolation = syscall.Errno(32)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	mode := uint32(syscall.OPEN_EXISTING)
	if flag == os.O_CREATE {
		mode = syscall.OPEN_ALWAYS
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil, mode, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case err == sharingViolation:
		return nil, fmt.Errorf("%s: %w", path, ErrInUse)
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// syncFolder does nothing: Windows keeps the entries of a folder by itself.
func syncFolder(string) error { return nil }
