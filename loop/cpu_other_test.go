//go:build !unix

package loop_test

import "time"

var start = time.Now()

// cpuTime stands for the CPU time of the process, which is not known here.
func cpuTime() time.Duration { return time.Since(start) }
