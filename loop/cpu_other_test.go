//go:build !unix

package loop_test

import "time"

var start = time.Now()

// cpuTime returns the elapsed time, since the CPU time is not known here.
func cpuTime() time.Duration { return time.Since(start) }
