// Package goldens stores traces that were looked at once and found right, and
// compares new traces with them.
//
// A [Golden] is a header and a canonical trace:
//
//	# agentbench golden v1
//	# scenario: stuck-loops/same-call-forever
//	# variant: hpd-agent
//	# seed: 1
//	# mode: strict
//	# allow: field *.time: the model's latency is not what this is about
//	# allow: field halt.elapsed: nor is what it adds up to
//
//	   0.000s started text="Summarise notes.txt."
//	          > ask m1#1 for=reply to=1
//	…
//
// It lies in a [Store] as <suite>/<scenario>.<variant>.golden. The mode says
// what of the trace must be the same, see [Mode]; each line allow names one
// difference that is fine, and why, see [ParseRule] for the language.
//
// [Golden.Compare] compares bytes first, and reads the trace only where they
// differ. What it then says is short: the first line that differs, what was
// expected there and what came, and the shortest edit between the two.
//
// The goldens of the embedded scenarios are embedded as well: see [Embedded].
package goldens
