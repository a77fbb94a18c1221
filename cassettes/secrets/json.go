package secrets

// A leaf is a string of a JSON document, without its quotes. A key is one too.
type leaf struct {
	start, end int
	key        string // the nearest one that the string is a value of, escapes and all
}

// walk tells the strings of a JSON document, which is valid, in their order.
func walk(text string, each func(leaf)) {
	w := walker{text: text, each: each}
	w.value("")
}

type walker struct {
	text string
	at   int
	each func(leaf)
}

// value walks through a value.
func (w *walker) value(key string) {
	switch w.space(); w.peek() {
	case '"':
		l := w.string()
		l.key = key
		w.each(l)
	case '{':
		w.members(func() {
			name := w.string()
			w.each(name)
			w.space()
			w.at++ // the colon
			w.value(w.text[name.start:name.end])
		})
	case '[':
		w.members(func() { w.value(key) })
	default:
		w.scalar()
	}
}

// members walks through what is between two brackets.
func (w *walker) members(one func()) {
	w.at++
	for w.space(); w.at < len(w.text); w.space() {
		switch w.peek() {
		case '}', ']':
			w.at++
			return
		case ',':
			w.at++
		default:
			one()
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

// scalar walks through a number, true, false or null.
func (w *walker) scalar() {
	for w.at < len(w.text) && (isWord(w.text[w.at]) || w.text[w.at] == '-' || w.text[w.at] == '+' || w.text[w.at] == '.') {
		w.at++
	}
}

func (w *walker) space() {
	for w.at < len(w.text) && (w.text[w.at] == ' ' || w.text[w.at] == '\t' || w.text[w.at] == '\n' || w.text[w.at] == '\r') {
		w.at++
	}
}

func (w *walker) peek() byte {
	if w.at < len(w.text) {
		return w.text[w.at]
	}
	return 0
}
