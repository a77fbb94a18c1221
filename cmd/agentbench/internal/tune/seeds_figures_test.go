//go:build figures

package tune

// seedsOf returns how many seeds a simulation runs.
func seedsOf(_, all int) uint64 { return uint64(all) }
