package shapes

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
)

// Append appends the header line of the corpus, with its line end.
func (c *Corpus) Append(dst []byte) []byte {
	dst = append(append(dst, "@corpus "...), escape(c.Name, specialWord)...)
	for _, f := range []struct{ key, value string }{{"source", c.Source}, {"commit", c.Commit}, {"licence", c.Licence}} {
		if f.value != "" {
			dst = append(append(append(append(dst, ' '), f.key...), '='), escape(f.value, specialWord)...)
		}
	}
	return append(dst, '\n')
}

// Append appends the line of the run, with its line end. It does not write the corpus.
func (r *Run) Append(dst []byte) []byte {
	dst = append(append(append(dst, escape(r.Name, specialWord)...), ' '), r.Outcome...)
	if r.Task > 0 {
		dst = strconv.AppendInt(append(dst, " task="...), int64(r.Task), 10)
	}
	if r.Branch > 0 {
		dst = strconv.AppendInt(append(dst, " branch="...), int64(r.Branch), 10)
	}
	for i := range r.Steps {
		dst = r.Steps[i].append(append(dst, ' '), r.Named)
	}
	return append(dst, '\n')
}

func (s *Step) append(dst []byte, named bool) []byte {
	switch {
	case s.User:
		dst = append(dst, 'u')
	case s.Empty:
		dst = append(dst, '_')
	case len(s.Calls) == 0:
		dst = append(dst, '.')
	}
	for i := range s.Calls {
		if i > 0 {
			dst = append(dst, '+')
		}
		dst = s.Calls[i].append(dst, named)
	}
	if s.Timed {
		dst = append(append(dst, '@'), seconds(s.At)...)
	}
	if s.TokensIn != 0 || s.TokensOut != 0 {
		dst = strconv.AppendInt(append(dst, '#'), s.TokensIn, 10)
		dst = strconv.AppendInt(append(dst, '/'), s.TokensOut, 10)
	}
	return dst
}

func (c *Call) append(dst []byte, named bool) []byte {
	switch {
	case c.Tool == "":
		dst = append(dst, '_')
	case named:
		dst = append(append(dst, escape(c.Tool, specialTool)...), ':')
	default:
		dst = append(dst, c.Tool...)
	}
	dst = strconv.AppendInt(dst, int64(c.Args), 10)
	if c.Broken {
		dst = append(dst, '~')
	}
	if c.Mark == Unanswered {
		return append(dst, '?')
	}
	dst = strconv.AppendInt(append(dst, '='), int64(c.Result), 10)
	return append(dst, [...]string{Answered: "", Failed: "!", ErrorText: "!e"}[c.Mark]...)
}

// seconds writes a time in seconds, rounded down to milliseconds: 12.5.
func seconds(d time.Duration) string {
	ms := d.Milliseconds()
	s := strconv.FormatInt(ms/1000, 10)
	if ms %= 1000; ms != 0 {
		s += strings.TrimRight(fmt.Sprintf(".%03d", ms), "0")
	}
	return s
}

// What is escaped in addition to white space and what is not shown.
const (
	specialWord = "%"     // in the name of a run and in what a header says
	specialTool = "%+:@#" // in the name of a tool
)

// escape writes a name so that nothing in it has a meaning: the bytes of characters that
// are special, white space or not shown become %XX. The empty name is %.
func escape(name, special string) string {
	if name == "" {
		return "%"
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		hidden := r == utf8.RuneError || text.Hidden(r) || unicode.IsSpace(r)
		if hidden || strings.ContainsRune(special, r) || i == 0 && strings.ContainsRune("@#", r) || name == "_" {
			for _, c := range []byte(name[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}
