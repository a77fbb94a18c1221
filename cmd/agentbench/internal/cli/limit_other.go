//go:build !unix

package cli

// openFileLimit is how many files the program may have open, 0 = nobody knows.
func openFileLimit() uint64 { return 0 }
