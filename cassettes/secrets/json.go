package secrets

import (
	"strconv"
	"strings"
)

// A leaf is a string of a JSON document, without its quotes. A key is one too.
type leaf struct {
	start, end int
	key        string // the nearest one that the string is a value of, escapes and all
	path       string // where pieces of one text are found in events, "" = in no other event
}

// walk calls each with the strings of a valid JSON document, in their order. With
// paths they say where they stand.
func walk(text string, paths bool, each func(leaf)) {
	w := walker{text: text, paths: paths, each: each}
	w.value("", "$", 0)
}

type walker struct {
	text  string
	at    int
	paths bool
	each  func(leaf) // may be nil
}

// The largest depth, and the number of places in an array that paths distinguish.
const (
	maxDepth  = 16
	maxPlaces = 64
)

// value walks through a value.
func (w *walker) value(key, path string, depth int) {
	if depth == maxDepth {
		path = ""
	}
	switch w.space(); w.peek() {
	case '"':
		l := w.string()
		l.key, l.path = key, path
		w.visit(l)
	case '{':
		if w.paths && path != "" {
			path += w.marks()
		}
		w.members(func(int) {
			name := w.string()
			w.visit(name)
			w.colon()
			key := w.text[name.start:name.end]
			w.value(key, w.below(path, "."+key), depth+1)
		})
	case '[':
		w.members(func(place int) {
			if place == maxPlaces {
				path = ""
			}
			below := ""
			if w.paths && path != "" {
				below = w.below(path, w.place(place))
			}
			w.value(key, below, depth+1)
		})
	default:
		w.scalar()
	}
}

func (w *walker) visit(l leaf) {
	if w.each != nil {
		w.each(l)
	}
}

// below returns the path of a part.
func (w *walker) below(path, part string) string {
	if !w.paths || path == "" || len(path) > maxValue {
		return ""
	}
	return path + part
}

// place names an element of an array: an object with an index is named by its
// index, which marks adds.
func (w *walker) place(n int) string {
	if w.peek() == '{' && strings.Contains(w.marks(), "index=") {
		return "[]"
	}
	return "[" + strconv.Itoa(n) + "]"
}

// marks returns the members of the object at hand that say which text its string
// is a piece of.
func (w *walker) marks() string {
	s := walker{text: w.text, at: w.at}
	var b strings.Builder
	s.members(func(int) {
		name := s.string()
		s.colon()
		s.space()
		from := s.at
		s.value("", "", 0)
		switch key := s.text[name.start:name.end]; key {
		case "index", "item_id", "output_index", "content_index", "type":
			if s.at-from <= maxKey {
				b.WriteString("{" + key + "=" + s.text[from:s.at] + "}")
			}
		}
	})
	looked.Add(int64(s.at - w.at))
	return b.String()
}

// members walks through the members between two brackets, and calls one for each,
// with the number of members before it.
func (w *walker) members(one func(place int)) {
	w.at++
	for n := 0; w.at < len(w.text); {
		switch w.space(); w.peek() {
		case '}', ']':
			w.at++
			return
		case ',':
			w.at++
		default:
			one(n)
			n++
		}
	}
}

// string walks through a string.
func (w *walker) string() leaf {
	w.at++
	l := leaf{start: w.at}
	for w.at < len(w.text) && w.text[w.at] != '"' {
		if w.text[w.at] == '\\' {
			w.at++
		}
		w.at++
	}
	l.end = w.at
	w.at++
	return l
}

func (w *walker) colon() {
	w.space()
	w.at++
}

// scalar walks through a number, true, false or null.
func (w *walker) scalar() {
	for w.at < len(w.text) && (isWord(w.text[w.at]) || strings.IndexByte("-+.", w.text[w.at]) >= 0) {
		w.at++
	}
}

func (w *walker) space() {
	for w.at < len(w.text) && strings.IndexByte(" \t\r\n", w.text[w.at]) >= 0 {
		w.at++
	}
}

func (w *walker) peek() byte {
	if w.at < len(w.text) {
		return w.text[w.at]
	}
	return 0
}
