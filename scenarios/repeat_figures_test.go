//go:build figures && !race

package scenarios

func init() { repeats = 1000 }
