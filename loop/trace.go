package loop

// A Record is one step of a machine: what went in, and what came out of it.
type Record struct {
	In      Input
	Effects []Effect
}

// A Trace is all that went into a session's loop and came out of it, in order.
// Its text form ([Trace.String], [ParseTrace]) is canonical: the same trace has
// the same text, and the text parses back to the same trace.
type Trace []Record

// Append adds a step. It copies effects and leaves out what is no part of a
// trace.
func (t *Trace) Append(in Input, effects []Effect) {
	kept := make([]Effect, len(effects))
	for i, e := range effects {
		e.System, e.History, e.Budget = "", nil, 0
		kept[i] = e
	}
	if len(kept) == 0 {
		kept = nil
	}
	*t = append(*t, Record{In: in, Effects: kept})
}
