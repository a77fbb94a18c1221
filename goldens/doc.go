// Package goldens stores traces that somebody looked at once and found right, and
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
// It lies in a [Store] as <suite>/<scenario>.<variant>.golden, and [Places] knows
// which store belongs to a scenario. The mode says what of the trace must be the
// same, see [Mode]; each line allow is an [Allowance]: one difference that is fine,
// and why. See [ParseAllowance] for the language.
//
// [Golden.Compare] compares bytes first, and parses the trace only where they
// differ. The [Difference] is short: the first line that differs, what was expected
// there and what came, and the shortest edit between the two.
//
// The goldens of the embedded scenarios are embedded as well: see [Embedded]. To
// compare the trials of scenarios with their goldens, use scenarios.Goldens.
package goldens
