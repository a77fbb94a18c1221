// Package goldens stores traces that somebody has reviewed and found right, and
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
// A [Store] holds it as <suite>/<scenario>.<variant>.golden, and [Places] finds the
// store of a scenario. The [Mode] says which parts of the trace must be equal. Each
// allow line is an [Allowance]: one difference that is accepted, and the reason. See
// [ParseAllowance] for the language.
//
// [Golden.Compare] compares bytes first, and parses the traces only if the bytes
// differ. The [Difference] is short: the first line that differs, the expected line and
// the actual line, and the shortest edit between the two.
//
//	golden, err := goldens.Dir("testdata/goldens").Read("loops/same.hpd-agent.golden")
//	…
//	if d := golden.Compare(trace); d != nil {
//		t.Error(d)
//	}
//
// The goldens of the embedded scenarios are also embedded: see [Embedded]. To compare
// the trials of scenarios with their goldens, use scenarios.Goldens.
package goldens
