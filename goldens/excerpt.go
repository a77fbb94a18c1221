package goldens

import (
	"errors"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// An excerpt is a part of the text of a trace.
type excerpt struct {
	text  string
	after int // number of lines before it
}

// differing returns two texts without the lines that are equal at their beginning, and
// then without those that are equal at their end.
func differing(a, b string) (excerpt, excerpt) {
	prefix := commonPrefix(a, b)
	prefix = strings.LastIndexByte(a[:prefix], '\n') + 1
	after := strings.Count(a[:prefix], "\n")
	a, b = a[prefix:], b[prefix:]
	suffix := commonSuffix(a, b)
	for suffix > 0 && !(lineStarts(a, len(a)-suffix) && lineStarts(b, len(b)-suffix)) {
		suffix--
	}
	return excerpt{text: a[:len(a)-suffix], after: after}, excerpt{text: b[:len(b)-suffix], after: after}
}

// block is how many bytes are compared at once. That is much faster than byte by byte.
const block = 1 << 12

func commonPrefix(a, b string) (n int) {
	most := min(len(a), len(b))
	for n+block <= most && a[n:n+block] == b[n:n+block] {
		n += block
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) (n int) {
	most := min(len(a), len(b))
	for n+block <= most && a[len(a)-n-block:len(a)-n] == b[len(b)-n-block:len(b)-n] {
		n += block
	}
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// lineStarts reports whether a line starts at a byte of a text.
func lineStarts(text string, i int) bool { return i == 0 || text[i-1] == '\n' }

// lines parses the excerpt. Line numbers, in errors too, are those of the whole text.
// An excerpt that is not the beginning of a trace may begin with an effect.
func (x *excerpt) lines() ([]entry, error) {
	text, added := x.text, 0
	if effect, is := strings.CutPrefix(strings.TrimLeft(text, " "), "> "); is && x.after > 0 {
		tick := loop.Record{In: loop.Input{Kind: loop.Tick}} // in place of the input before the effect
		before := tick.String()
		if path, _, ofSub := strings.Cut(effect, "/ "); ofSub {
			tick.Path = loop.Path(path + "/")
			if _, err := loop.ParseTrace(tick.String()); err == nil {
				before = tick.String()
			}
		}
		text, added = before+text, 1
	}
	trace, err := loop.ParseTrace(text)
	var at *loop.TraceError
	if errors.As(err, &at) {
		at.Line += x.after - added
	}
	if err != nil {
		return nil, err
	}
	lines := entries(trace)[added:]
	for i := range lines {
		lines[i].line += x.after - added
	}
	return lines, nil
}
