//go:build race

package scenarios

func init() { repeats = 20 }
