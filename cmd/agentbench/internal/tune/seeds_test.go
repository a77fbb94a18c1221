//go:build !figures

package tune

// seedsOf returns how many seeds a simulation runs: few; all with the tag figures.
func seedsOf(few, _ int) uint64 { return uint64(few) }
