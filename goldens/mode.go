package goldens

import (
	"cmp"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
)

// project reduces the lines to the parts that the mode compares.
func (m Mode) project(lines []entry) []entry {
	switch m {
	case Actions, Subset, Superset:
		return actions(lines)
	case Unordered:
		return unordered(lines)
	}
	return lines
}

// actions keeps the executed calls and the ends of runs, without their numbers and
// counts.
func actions(lines []entry) []entry {
	kept := lines[:0]
	for _, e := range lines {
		switch {
		case e.isCall():
			e.effect.Ref = loop.Ref{}
			if doc, ok := parseJSON(e.effect.Args); ok {
				e.effect.Args = writeJSON(doc)
			}
		case e.effect != nil && e.effect.Kind == loop.Halt:
			e.effect.Outcome = &loop.Outcome{Stop: e.effect.Outcome.Stop, End: e.effect.Outcome.End}
		default:
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// isCall reports whether the line starts a call. Further tries do not.
func (e *entry) isCall() bool {
	return e.effect != nil && e.effect.Kind == loop.CallTool && e.effect.Ref.Try <= 1
}

// unordered sorts the lines of each batch so that the order of its calls does not
// matter: it numbers the calls in the order of their tools and arguments, and removes
// their ids.
func unordered(lines []entry) []entry {
	for start := 0; start < len(lines); start++ {
		if calls := lines[start].input.Calls; lines[start].effect != nil || len(calls) == 0 {
			continue
		}
		end := start + 1
		for end < len(lines) && !lines[end].endsBatch() {
			end++
		}
		sortBatch(&lines[start].input, lines[start+1:end])
	}
	return lines
}

// endsBatch reports whether a line comes after the batch: the next request, a question,
// the end of the run, or an input that begins another batch or run.
func (e *entry) endsBatch() bool {
	if e.effect == nil {
		return e.input.Kind == loop.ModelReply || e.input.Kind == loop.UserMessage
	}
	return e.effect.Kind == loop.AskModel || e.effect.Kind == loop.AskUser || e.effect.Kind == loop.Halt
}

// sortBatch sorts the calls of a reply and the lines of its batch. If the number of
// calls with results is not the number of calls, the reply was ignored, or the run ended
// before all had run, and sortBatch removes the ids only.
func sortBatch(reply *loop.Input, lines []entry) {
	var numbers []int
	for i := range lines {
		if e := lines[i].effect; e != nil && e.Kind == loop.Put && e.Ref.Kind == loop.RefCall {
			numbers = append(numbers, e.Ref.N)
		}
	}
	slices.Sort(numbers)
	if numbers = slices.Compact(numbers); len(numbers) != len(reply.Calls) {
		for i := range reply.Calls {
			reply.Calls[i].ID = ""
		}
		return
	}
	order := sortCalls(reply)
	renumber := map[loop.Ref]int{}
	for place, was := range order {
		renumber[loop.Ref{Kind: loop.RefCall, N: numbers[was]}] = numbers[place]
	}
	for i := range lines {
		lines[i].renumber(renumber)
	}
	renumber = gateNumbers(lines)
	for i := range lines {
		lines[i].renumber(renumber)
		lines[i].render()
	}
	slices.SortStableFunc(lines, func(a, b entry) int { return cmp.Compare(a.text, b.text) })
}

// sortCalls sorts the calls of a reply by their tools and arguments and removes their
// ids. It returns the old index of each call.
func sortCalls(reply *loop.Input) []int {
	order := make([]int, len(reply.Calls))
	for i := range reply.Calls {
		order[i], reply.Calls[i].ID = i, ""
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &reply.Calls[a], &reply.Calls[b]
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Args, y.Args))
	})
	sorted := make([]loop.AskedCall, len(order))
	for place, was := range order {
		sorted[place] = reply.Calls[was]
	}
	reply.Calls = sorted
	return order
}

// renumber replaces the number of a line, and the number of the call that its gate is
// about. It removes replacement ids, as all ids are removed.
func (e *entry) renumber(numbers map[loop.Ref]int) {
	refs := []*loop.Ref{e.ref()}
	if e.effect != nil {
		refs = append(refs, &e.effect.Of)
		if e.effect.Event == loop.EventReplacedID {
			e.effect.Text = ""
		}
	}
	for _, ref := range refs {
		if n, ok := numbers[loop.Ref{Kind: ref.Kind, N: ref.N}]; ok {
			ref.N = n
		}
	}
}

// gateNumbers numbers the gates of a batch in the order of their calls.
func gateNumbers(lines []entry) map[loop.Ref]int {
	var gates []*loop.Effect
	for i := range lines {
		if e := lines[i].effect; e != nil && e.Kind == loop.OpenGate {
			gates = append(gates, e)
		}
	}
	numbers := make([]int, len(gates))
	for i, g := range gates {
		numbers[i] = g.Ref.N
	}
	slices.Sort(numbers)
	slices.SortStableFunc(gates, func(a, b *loop.Effect) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Of.N, b.Of.N))
	})
	renumber := map[loop.Ref]int{}
	for i, g := range gates {
		renumber[g.Ref] = numbers[i]
	}
	return renumber
}
