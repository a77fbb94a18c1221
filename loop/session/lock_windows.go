package session

import (
	"fmt"
	"os"
	"syscall"
)

// openLocked opens a file and locks it. It returns [ErrInUse] if the file is locked.
// Others can still read the file. flag is 0 or [os.O_CREATE].
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

// syncFolder does nothing, since Windows itself writes the entries of a folder to the
// disk.
func syncFolder(string) error { return nil }
