// Package soak runs many conversations at once, in goroutines and in real time. It
// finds bugs that show only under load: deadlocks, leaks, and wrong ends.
//
// Each conversation follows a script: see [Kinds]. Its model runs in this process, or
// behind HTTP (package fakes/serve). It must end as the same script ends in the
// simulated world.
//
// The number of conversations stays constant: when one ends, the next begins. The
// package samples the heap, each time after a garbage collection, under this load and
// after all conversations have ended. Under a steady load the heap must not grow. Its
// slope is the median of the slopes between all pairs of samples in the later half of
// the run, in bytes for each ended conversation; the first half is left out because
// buffers and pools fill up then. The slope must be below [MaxSlope].
package soak
