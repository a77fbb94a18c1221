package secrets

import (
	"slices"
	"strings"
)

// body returns the secrets of a body.
func (f *finder) body(text string) []span {
	switch json := isJSON(text); {
	case json && isChunks(text):
		return f.chunks(text)
	case !json && isStream(text):
		return f.stream(text)
	}
	return f.find("", text, 0)
}

// isStream reports whether a text is a stream of events with JSON in it.
func isStream(text string) bool {
	found := false
	if strings.Contains(text, "data:") {
		lines(text, func(start, end int) bool {
			_, found = payload(text[start:end])
			return !found
		})
	}
	return found
}

// lines calls each with the lines of a text, without their ends, until it returns
// false.
func lines(text string, each func(start, end int) bool) {
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexAny(text[at:], "\r\n"); i >= 0 {
			end = at + i
		}
		if !each(at, end) {
			return
		}
		at = end + 1
	}
}

// payload reports whether a line of a stream carries a JSON object or array, and
// where that begins.
func payload(line string) (from int, is bool) {
	const data = "data:"
	if !strings.HasPrefix(line, data) {
		return 0, false
	}
	json := strings.TrimLeft(line[len(data):], " ")
	if json == "" || json[0] != '{' && json[0] != '[' || !isJSON(json) {
		return 0, false
	}
	return len(line) - len(json), true
}

// A piece is a string of an event that may be a part of a longer one.
type piece struct {
	start, end int // in the stream
	at         int // in the text that the pieces are, put together
}

// A join is the pieces with one path.
type join struct {
	key    string
	pieces []piece
	single []span // what was found in the pieces
}

// maxJoins bounds how many texts of a stream are joined.
const maxJoins = 10_000

// atOnce are the keys of strings that do not come in pieces.
var atOnce = map[string]bool{"id": true, "model": true, "object": true, "type": true, "role": true, "status": true, "finish_reason": true,
	"system_fingerprint": true, "service_tier": true, "item_id": true, "response_id": true, "event_id": true, "call_id": true,
	"responseId": true, "modelVersion": true, "finishReason": true, "obfuscation": true, "stop_reason": true}

// A gathering collects what is found in the strings of events.
type gathering struct {
	*finder
	text  string
	all   []span
	joins []*join
	of    map[string]*join // by path
}

func (f *finder) gather(text string) *gathering {
	return &gathering{finder: f, text: text, of: map[string]*join{}}
}

// stream returns the secrets of a stream of events.
func (f *finder) stream(text string) []span {
	g := f.gather(text)
	lines(text, func(start, end int) bool {
		line := text[start:end]
		from, is := payload(line)
		if !is {
			g.all = append(g.all, moved(f.plain("", line), start)...)
			return true
		}
		walk(line[from:], true, func(l leaf) {
			l.start, l.end = l.start+start+from, l.end+start+from
			g.add(l)
		})
		return true
	})
	return g.joined()
}

// isChunks reports whether a JSON document is an array of events, as Gemini's
// API streams them if it is not asked for SSE.
func isChunks(text string) bool {
	rest, array := strings.CutPrefix(strings.TrimLeft(text, " \t\r\n"), "[")
	rest = strings.TrimLeft(rest, " \t\r\n")
	return array && strings.HasPrefix(rest, "{") && strings.Contains(rest[:min(len(rest), maxValue)], `"candidates"`)
}

// chunks returns the secrets of an array of events.
func (f *finder) chunks(text string) []span {
	g := f.gather(text)
	w := walker{text: text, paths: true, each: g.add}
	w.space()
	w.members(func(int) { w.value("", "$", 0) })
	return g.joined()
}

// add searches a string of an event.
func (g *gathering) add(l leaf) {
	single := g.leaf(g.text, l, 1)
	j := g.of[l.path]
	if j == nil {
		if l.path == "" || atOnce[l.key] || len(g.joins) == maxJoins {
			g.all = append(g.all, single...)
			return
		}
		j = &join{key: l.key}
		g.of[l.path] = j
		g.joins = append(g.joins, j)
	}
	j.pieces = append(j.pieces, piece{start: l.start, end: l.end})
	j.single = append(j.single, single...)
}

// joined returns the secrets of single strings and of those that are pieces.
func (g *gathering) joined() []span {
	all := g.all
	for _, j := range g.joins {
		var joined []span
		if len(j.pieces) > 1 {
			joined = g.join(g.text, j)
		}
		all = append(append(all, apart(j.single, joined)...), joined...)
	}
	return all
}

// join returns the secrets of the text that pieces make, by piece.
func (f *finder) join(text string, j *join) []span {
	var b strings.Builder
	for i, p := range j.pieces {
		j.pieces[i].at = b.Len()
		b.WriteString(opened(text[p.start:p.end], false))
	}
	spans := f.find(j.key, b.String(), 1)
	var all []span
	for i, p := range j.pieces {
		behind := b.Len()
		if i+1 < len(j.pieces) {
			behind = j.pieces[i+1].at
		}
		var parts []span
		for len(spans) > 0 && spans[0].start < behind {
			part := spans[0]
			part.rest = part.start < p.at
			part.start, part.end = max(part.start, p.at)-p.at, min(part.end, behind)-p.at
			if part.start < part.end {
				parts = append(parts, part)
			}
			if spans[0].end > behind {
				break
			}
			spans = spans[1:]
		}
		all = append(all, moved(closed(text[p.start:p.end], parts, false), p.start)...)
	}
	return all
}

// apart removes the spans that overlap better ones. Both are sorted. The next pass
// finds whatever else is in them.
func apart(spans, better []span) []span {
	return slices.DeleteFunc(spans, func(s span) bool {
		for len(better) > 0 && better[0].end <= s.start {
			better = better[1:]
		}
		return len(better) > 0 && better[0].start < s.end
	})
}

// moved moves spans.
func moved(spans []span, by int) []span {
	for i := range spans {
		spans[i].start += by
		spans[i].end += by
	}
	return spans
}
