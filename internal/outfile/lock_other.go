//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package outfile

import "os"

func lock(*os.File) {}

func isLocked(string) bool { return false }

func lockFolder(string) (unlock func()) { return func() {} }
