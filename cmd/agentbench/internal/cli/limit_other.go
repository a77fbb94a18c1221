//go:build !unix

package cli

// openFileLimit returns how many files the program may have open, 0 = unknown.
func openFileLimit() uint64 { return 0 }
