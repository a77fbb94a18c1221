// Package soak runs many conversations at once, in goroutines and by the clock,
// and looks for what shows under load only: a deadlock, a leak, an end that is
// not the expected one.
//
// Each conversation is a scripted one: see [Kinds]. Its model is asked in this
// process, or over HTTP of the package fakes/serve. How it must end is what
// the same script comes to in the simulated world.
//
// A number of conversations is always at work: where one ends the next begins.
// Memory is looked at while they are (the heap after a collection, a few times),
// and when all have ended. A steady load has no slope: what is left over by a
// conversation is its growth divided by how many have ended (the median of the
// slopes between all pairs of samples in the later half of the run, since
// buffers and pools fill up first), and "about zero" is less than [MaxSlope]
// bytes.
package soak
