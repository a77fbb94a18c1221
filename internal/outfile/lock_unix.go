//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package outfile

import (
	"os"
	"syscall"
)

// lock marks a file as being written, until it is closed or the process ends.
func lock(file *os.File) { flock(file, syscall.LOCK_EX|syscall.LOCK_NB) }

// isLocked reports whether a process is writing the file. Somebody else may have planted
// the name: a pipe must not hold it up, nor a link lead anywhere.
func isLocked(name string) bool {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return flock(file, syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// lockFolder waits until nobody else has locked a folder, and locks it. The lock is of
// use only to those who ask for it.
func lockFolder(path string) (unlock func()) {
	folder, err := os.Open(path)
	if err != nil {
		return func() {}
	}
	flock(folder, syscall.LOCK_EX)
	return func() { folder.Close() }
}

func flock(file *os.File, how int) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	controlled := raw.Control(func(fd uintptr) {
		for err = syscall.EINTR; err == syscall.EINTR; {
			err = syscall.Flock(int(fd), how)
		}
	})
	if controlled != nil {
		return controlled
	}
	return err
}
