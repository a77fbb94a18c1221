// Package drive plays the reference loop with the tools and the user of a
// scenario, and with a model that is real: an endpoint, or the cassette of one.
//
// Everything but the model is simulated, in virtual time, and a request takes as
// long there as it took in truth. So what was recorded can be driven again with
// the network denied, and gives the same trace to the byte. While it is recorded
// the clock of the wall never runs behind the virtual one: a wait for a retry is
// a real wait.
package drive
