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
	var kept []Effect
	if len(effects) > 0 {
		kept = make([]Effect, len(effects))
		copy(kept, effects)
	}
	for i := range kept {
		kept[i].System, kept[i].History, kept[i].Budget = "", nil, 0
	}
	*t = append(*t, Record{In: in, Effects: kept})
}
