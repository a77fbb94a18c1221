package shapes

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
)

// A Mistake is something in a file of shapes that cannot be read.
type Mistake struct {
	Line, Column int // from 1; the column counts characters
	Text         string
}

// Error returns the mistake in one line, with its place.
func (m *Mistake) Error() string { return fmt.Sprintf("%d:%d: %s", m.Line, m.Column, m.Text) }

// Mistakes are the mistakes of a file, in order, at most one a line.
type Mistakes []*Mistake

// Error returns the mistakes, one a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i := range m {
		lines[i] = m[i].Error()
	}
	return strings.Join(lines, "\n")
}

// maxNumber bounds the numbers of a line, so that they fit everywhere.
const maxNumber = 1_000_000_000

// Parse reads a file of shapes. A line with a mistake does not hide the others: the
// error is of type [Mistakes], and the runs of the other lines are returned with it.
func Parse(data []byte) ([]*Run, error) {
	var runs []*Run
	var mistakes Mistakes
	for run, mistake := range All(data) {
		if mistake != nil {
			mistakes = append(mistakes, mistake)
		} else {
			runs = append(runs, run)
		}
	}
	if len(mistakes) > 0 {
		return runs, mistakes
	}
	return runs, nil
}

// All yields the runs and the mistakes of a file of shapes, in the order of its lines: one
// of the two is nil.
func All(data []byte) iter.Seq2[*Run, *Mistake] {
	return func(yield func(*Run, *Mistake) bool) {
		var corpus *Corpus
		n := 0
		for line := range bytes.Lines(data) {
			n++
			p := parser{line: string(bytes.TrimRight(line, "\r\n"))}
			p.spaces()
			var run *Run
			switch {
			case p.at == len(p.line) || p.line[p.at] == '#':
				continue
			case p.line[p.at] == '@':
				corpus = p.corpus()
			default:
				run = p.run()
			}
			if p.wrong != nil {
				p.wrong.Line = n
				run = nil
			} else if run != nil {
				run.Corpus, run.Line = corpus, n
			}
			if (run != nil || p.wrong != nil) && !yield(run, p.wrong) {
				return
			}
		}
	}
}

// ParseCorpus reads what follows @corpus in a header: NAME source=… commit=… licence=….
func ParseCorpus(said string) (*Corpus, error) {
	p := parser{line: "@corpus " + said}
	c := p.corpus()
	if p.wrong != nil {
		p.wrong.Line = 1
		p.wrong.Column -= len("@corpus ")
		return nil, p.wrong
	}
	return c, nil
}

// Is reports whether data looks like a file of shapes: whether its first line that is
// not a comment is a header or begins as a run does.
func Is(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		fields := bytes.Fields(line[:min(len(line), 1000)])
		if line[0] == '@' {
			return string(fields[0]) == "@corpus"
		}
		return len(fields) > 1 && isOutcome(string(fields[1]))
	}
	return false
}

func isOutcome(word string) bool {
	switch Outcome(word) {
	case Unknown, Success, Failure:
		return true
	}
	return false
}

// A parser reads one line.
type parser struct {
	line  string
	at    int // the offset of what is read next
	wrong *Mistake
	of    *Run
	marks map[int]Mark    // of the results, by number
	tool  bool            // the run has a call with a tool
	bad   map[string]bool // whether arguments are broken, by tool and number
}

// fail notes the first mistake.
func (p *parser) fail(at int, format string, args ...any) {
	if p.wrong == nil {
		p.wrong = &Mistake{Column: utf8.RuneCountInString(p.line[:at]) + 1, Text: fmt.Sprintf(format, args...)}
	}
}

func (p *parser) spaces() {
	for p.at < len(p.line) && (p.line[p.at] == ' ' || p.line[p.at] == '\t') {
		p.at++
	}
}

// word returns the next word and where it begins, "" at the end of the line.
func (p *parser) word() (word string, at int) {
	p.spaces()
	at = p.at
	for p.at < len(p.line) && p.line[p.at] != ' ' && p.line[p.at] != '\t' {
		p.at++
	}
	return p.line[at:p.at], at
}

func (p *parser) corpus() *Corpus {
	if word, at := p.word(); word != "@corpus" {
		p.fail(at, "%s is not a header: want @corpus NAME", text.Quote(word, 40))
		return nil
	}
	word, at := p.word()
	if word == "" {
		p.fail(at, "the corpus has no name: want @corpus NAME")
	}
	c := &Corpus{Name: p.unescape(word, at)}
	for {
		word, at := p.word()
		if word == "" {
			return c
		}
		key, value, _ := strings.Cut(word, "=")
		said := p.unescape(value, at+len(key)+1)
		switch key {
		case "source":
			c.Source = said
		case "commit":
			c.Commit = said
		case "licence":
			c.Licence = said
		default:
			p.fail(at, "%s is not known: a header has source=, commit= and licence=", text.Quote(key, 40))
		}
	}
}

func (p *parser) run() *Run {
	word, at := p.word()
	r := &Run{Name: p.unescape(word, at)}
	p.of, p.marks, p.bad = r, map[int]Mark{}, map[string]bool{}
	word, at = p.word()
	if !isOutcome(word) {
		p.fail(at, "%s is not an outcome: want success, failure or unknown after the run's name", text.Quote(word, 40))
		return nil
	}
	r.Outcome = Outcome(word)
	branched := 0
	for p.wrong == nil {
		word, at := p.word()
		if word == "" {
			break
		}
		if number, is := strings.CutPrefix(word, "task="); is && r.Task == 0 && len(r.Steps) == 0 {
			if r.Task = p.number(number, at+len("task="), "a task's number"); r.Task == 0 {
				p.fail(at, "tasks are numbered from 1")
			}
			continue
		}
		if number, is := strings.CutPrefix(word, "branch="); is && r.Branch == 0 && len(r.Steps) == 0 {
			branched = at
			if r.Branch = p.number(number, at+len("branch="), "the number of replies before a branch"); r.Branch == 0 {
				p.fail(at, "a branch shares at least one reply")
			}
			continue
		}
		p.step(word, at)
	}
	if n := r.replies(); r.Branch > n {
		p.fail(branched, "the run branches off after %s, and has %s", text.Count(r.Branch, "reply"), text.Count(n, "reply"))
	}
	if p.wrong == nil && len(r.Steps) == 0 {
		p.fail(len(p.line), "the run is empty: want u (a user message), calls such as a1=1, or . (a reply of text)")
	}
	return r
}

// step reads a user message or a reply.
func (p *parser) step(word string, at int) {
	r := p.of
	body, extra := word, ""
	if i := strings.IndexAny(word, "@#"); i >= 0 {
		body, extra = word[:i], word[i:]
	}
	var s Step
	switch body {
	case "u":
		s.User = true
	case ".":
	case "_":
		s.Empty = true
	case "":
		p.fail(at, "nothing stands before %s: want u, ., _ or calls", text.Quote(extra, 40))
	default:
		from := at
		for call := range strings.SplitSeq(body, "+") {
			s.Calls = append(s.Calls, p.call(call, from))
			from += len(call) + 1
		}
	}
	p.extra(&s, extra, at+len(body))
	if n := len(r.Steps); n > 0 && s.Timed && r.Steps[n-1].Timed && s.At < r.Steps[n-1].At {
		p.fail(at+len(body), "the time goes back: %s after %s", seconds(s.At), seconds(r.Steps[n-1].At))
	}
	r.Steps = append(r.Steps, s)
}

// extra reads the time and the tokens of a step.
func (p *parser) extra(s *Step, extra string, at int) {
	if rest, timed := strings.CutPrefix(extra, "@"); timed {
		said, tokens, counted := strings.Cut(rest, "#")
		s.At, s.Timed = p.time(said, at+1), true
		at += 1 + len(said)
		if extra = ""; counted {
			extra = "#" + tokens
		}
	}
	if extra == "" {
		return
	}
	in, out, both := strings.Cut(extra[1:], "/")
	if !both || s.User {
		p.fail(at, "want #READ/WRITTEN, the tokens of a reply, not %s", text.Quote(extra, 40))
		return
	}
	s.TokensIn = int64(p.number(in, at+1, "tokens read"))
	s.TokensOut = int64(p.number(out, at+2+len(in), "tokens written"))
}

// time reads seconds with up to three decimals.
func (p *parser) time(said string, at int) time.Duration {
	whole, decimals, pointed := strings.Cut(said, ".")
	if pointed && (decimals == "" || len(decimals) > 3) {
		p.fail(at, "%s is not a time: want seconds with up to three decimals, such as 12.5", text.Quote(said, 40))
		return 0
	}
	s := p.number(whole, at, "seconds")
	ms := 0
	if pointed {
		ms = p.number((decimals + "00")[:3], at+len(whole)+1, "decimals")
	}
	return time.Duration(s)*time.Second + time.Duration(ms)*time.Millisecond
}

// call reads one call: a tool, the number of its arguments, ~ if they are broken, and ?
// or = with the number of its result and ! or !e.
func (p *parser) call(said string, at int) (c Call) {
	end := at + len(said)
	rest := said
	named := false
	if name, after, colon := strings.Cut(said, ":"); colon {
		c.Tool, rest, named = p.unescape(name, at), after, true
		if c.Tool == "" {
			p.fail(at, "the name of the tool is missing: a call without a name is _1")
		}
	} else {
		letters := len(said) - len(strings.TrimLeft(said, "abcdefghijklmnopqrstuvwxyz"))
		if c.Tool, rest = said[:letters], said[letters:]; letters == 0 {
			rest = strings.TrimPrefix(said, "_")
		}
		if rest == said || rest == "" || rest[0] < '0' || rest[0] > '9' {
			p.fail(at, "%s is neither u, ., _ nor a call such as a1=1", text.Quote(said, 40))
			return c
		}
	}
	p.namedAs(named, c.Tool, at)
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if c.Args = p.number(rest[:digits], end-len(rest), "the number of its arguments"); c.Args == 0 {
		p.fail(end-len(rest), "arguments are numbered from 1")
	}
	rest, c.Broken = strings.CutPrefix(rest[digits:], "~")
	p.arguments(&c, at)
	switch {
	case rest == "?":
		c.Mark = Unanswered
	case strings.HasPrefix(rest, "="):
		p.result(&c, rest[1:], end-len(rest)+1)
	default:
		p.fail(end-len(rest), "want = and the number of a result, or ? for none, after the arguments")
	}
	return c
}

// namedAs notes whether the tools of the run have names.
func (p *parser) namedAs(named bool, tool string, at int) {
	switch {
	case tool == "":
	case p.of.Named == named:
		p.tool = true // the run has a tool
	case p.tool:
		p.fail(at, "the tools of a run are letters, or have names with a colon, not both")
	default:
		p.of.Named, p.tool = named, true
	}
}

// arguments checks that equal arguments are broken or not.
func (p *parser) arguments(c *Call, at int) {
	key := c.Tool + ":" + strconv.Itoa(c.Args)
	if broken, seen := p.bad[key]; seen && broken != c.Broken {
		p.fail(at, "these arguments are broken (~) at one place and not at another")
	}
	p.bad[key] = c.Broken
}

// result reads the number of a result and its mark.
func (p *parser) result(c *Call, said string, at int) {
	digits := len(said) - len(strings.TrimLeft(said, "0123456789"))
	c.Result = p.number(said[:digits], at, "the number of its result")
	switch mark := said[digits:]; mark {
	case "":
	case "!":
		c.Mark = Failed
		return // the mark does not depend on the text
	case "!e":
		c.Mark = ErrorText
	default:
		p.fail(at+digits, "want ! (an error), !e (text that begins with Error:), + or a space after the result, not %s", text.Quote(mark, 40))
	}
	before, seen := p.marks[c.Result]
	switch {
	case c.Mark == ErrorText && c.Result == 0:
		p.fail(at, "result 0 is the empty text, which does not begin with Error:")
	case seen && before != c.Mark:
		p.fail(at, "result %d begins with Error: (!e) at one place and not at another", c.Result)
	}
	p.marks[c.Result] = c.Mark
}

// number reads a number without a sign.
func (p *parser) number(digits string, at int, what string) int {
	n, err := strconv.Atoi(digits)
	switch {
	case digits == "" || strings.Trim(digits, "0123456789") != "":
		p.fail(at, "%s must be a whole number, not %s", what, text.Quote(digits, 40))
	case err != nil || n > maxNumber:
		p.fail(at, "%s is above %s", what, text.Number(maxNumber))
	default:
		return n
	}
	return 1
}

// unescape reads a name as escape writes it.
func (p *parser) unescape(said string, at int) string {
	if said == "%" {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(said); i++ {
		if said[i] != '%' {
			b.WriteByte(said[i])
			continue
		}
		var code uint64
		err := strconv.ErrSyntax
		if i+2 < len(said) {
			code, err = strconv.ParseUint(said[i+1:i+3], 16, 8)
		}
		if err != nil {
			p.fail(at+i, "%% must be followed by two hexadecimal digits")
			return ""
		}
		b.WriteByte(byte(code))
		i += 2
	}
	return b.String()
}
