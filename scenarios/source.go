package scenarios

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/infile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The limits on a file. The parser's time grows with the square of the depth, and with
// the square of the number of entries of one collection.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 100
	maxKeys      = 1000   // of one mapping
	maxItems     = 10_000 // of one list
	maxMistakes  = 100    // reported at most
)

// A source is the text of a file, and the mistakes found in it.
type source struct {
	file     string
	content  string
	root     ast.Node // nil if it cannot be read at all
	mistakes Mistakes
}

// An opener opens a file by its name: one on disk, or an embedded one.
type opener func(name string) (fs.File, error)

func osOpen(name string) (fs.File, error) { return infile.Open(name) }

// read reads and parses a file. If the source has no root, it has mistakes.
func (open opener) read(name, shown string) *source {
	s := &source{file: shown}
	text, err := open.text(name)
	if err != nil {
		s.whole(err.Error())
		return s
	}
	s.parse(text)
	return s
}

// text reads a file, and fails if it is too large. It does not trust the size that the
// file system reports.
func (open opener) text(name string) (string, error) {
	file, err := open(name)
	if err != nil {
		return "", errors.New(text.Reason(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return "", errors.New(text.Reason(err))
	}
	if len(data) > maxFileBytes {
		return "", fmt.Errorf("is larger than %d bytes", maxFileBytes)
	}
	return string(data), nil
}

// lineEnds turns the three line ends of YAML into one.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// parse reads a text.
func (s *source) parse(text string) {
	s.content = lineEnds.Replace(strings.TrimPrefix(text, "\ufeff"))
	if !s.checkCharacters() {
		return
	}
	tokens := lexer.Tokenize(s.content)
	if !s.checkNesting(tokens) {
		return
	}
	file, err := parse(tokens)
	if err != nil {
		s.syntax(err)
		return
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch {
	case len(bodies) == 0:
		s.whole("holds nothing")
	case len(bodies) > 1:
		s.fail(bodies[1], "a second document begins here", "a file is one document: take out the lines --- and %")
	default:
		s.root = bodies[0]
		s.checkNode(s.root)
	}
}

// parse parses tokens. A panic of the parser becomes an error.
func parse(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// checkCharacters refuses what YAML does not allow, before the parser sees it.
func (s *source) checkCharacters() bool {
	for i, r := range s.content {
		var problem string
		switch {
		case r == utf8.RuneError && isBroken(s.content[i:]):
			problem = fmt.Sprintf("the byte %#02x is not UTF-8", s.content[i])
		case r < ' ' && r != '\t' && r != '\n', r == 0x7f:
			problem = fmt.Sprintf("the control character U+%04X is not allowed in a file", r)
		default:
			continue
		}
		line := strings.Count(s.content[:i], "\n") + 1
		start := strings.LastIndexByte(s.content[:i], '\n') + 1
		s.add(line, utf8.RuneCountInString(s.content[start:i])+1, problem,
			`write such a character in double quotes as \x1b or \u001b`)
		return false
	}
	return true
}

// isBroken reports whether text begins with a byte that is not UTF-8.
func isBroken(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return r == utf8.RuneError && size == 1
}

// A level is a collection that is open while the tokens are read.
type level struct {
	column      int // of a block collection's entries; 0 for one in brackets
	mapping     bool
	keys, items int
}

// wide returns the problem of a collection with too many entries, or "".
func (l *level) wide() string {
	switch {
	case l.keys > maxKeys:
		return fmt.Sprintf("more than %d keys in one mapping", maxKeys)
	case l.items > maxItems:
		return fmt.Sprintf("more than %d entries in one list", maxItems)
	}
	return ""
}

// count counts an entry.
func (l *level) count(key bool) {
	if key {
		l.keys++
	} else {
		l.items++
	}
}

// checkNesting refuses depth and width on which the parser would spend too much time.
func (s *source) checkNesting(tokens token.Tokens) bool {
	var open []level
	for _, t := range tokens {
		column := t.Position.Column
		flow := len(open) > 0 && open[len(open)-1].column == 0
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open = append(open, level{mapping: t.Type == token.MappingStartType})
		case token.SequenceEndType, token.MappingEndType:
			if flow {
				open = open[:len(open)-1]
			}
			continue
		case token.CollectEntryType:
			if !flow {
				continue
			}
			open[len(open)-1].count(open[len(open)-1].mapping)
		case token.SequenceEntryType, token.MappingValueType, token.MappingKeyType:
			if flow {
				continue
			}
			if t.Type == token.MappingValueType && t.Prev != nil {
				column = t.Prev.Position.Column
			}
			open = openBlock(open, column)
			open[len(open)-1].count(t.Type != token.SequenceEntryType)
		default:
			continue
		}
		problem := open[len(open)-1].wide()
		if len(open) > maxDepth {
			problem = fmt.Sprintf("nested more than %d deep", maxDepth)
		}
		if problem != "" {
			s.add(t.Position.Line, column, problem, "")
			return false
		}
	}
	return true
}

// openBlock closes the block collections to the right of a column, and opens one at the
// column unless one is open there.
func openBlock(open []level, column int) []level {
	for len(open) > 0 && open[len(open)-1].column > column {
		open = open[:len(open)-1]
	}
	if len(open) == 0 || open[len(open)-1].column < column {
		open = append(open, level{column: column})
	}
	return open
}

// syntax reports what the parser could not read.
func (s *source) syntax(err error) {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		s.whole("is not YAML: " + text.Line(err.Error()))
		return
	}
	at, message := e.GetToken().Position, e.GetMessage()
	if strings.Contains(message, "\t") {
		message = "a tab is not allowed here"
	}
	s.add(at.Line, at.Column, text.Line(message), syntaxHint(message))
}

// syntaxHint returns a hint for the parser's most frequent errors, or "".
func syntaxHint(message string) string {
	switch {
	case strings.HasPrefix(message, "mapping value is not allowed"):
		return `a text that holds ": " needs quotes; the keys of one mapping begin in the same column`
	case strings.Contains(message, "tab "):
		return "indent with spaces"
	case strings.Contains(message, "reserved character"):
		return "a text that begins with this character needs quotes"
	case strings.HasPrefix(message, "sequence end token") || strings.HasPrefix(message, "',' or ']'"):
		return "a list that begins with [ ends with ]"
	case strings.HasPrefix(message, "could not find flow map") || strings.HasPrefix(message, "',' or '}'"):
		return "a mapping that begins with { ends with }"
	case strings.HasPrefix(message, "could not find end character"):
		return "a text that begins with a quote ends with the same quote"
	}
	return ""
}

// checkNode refuses what is not allowed in a file: anchors and aliases, which can make
// a small file huge, tags, merges, and keys that appear twice.
func (s *source) checkNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.AnchorNode:
		s.fail(n, "anchors are not allowed", "write the value out where it is needed")
	case *ast.AliasNode:
		s.fail(n, "aliases are not allowed", "write the value out")
	case *ast.TagNode:
		s.fail(n, "tags are not allowed", "put a text that looks like a number in quotes")
	case *ast.DirectiveNode:
		s.fail(n, "directives are not allowed", "")
	case *ast.SequenceNode:
		for _, item := range n.Values {
			s.checkNode(item)
		}
	case *ast.MappingNode:
		seen := make(map[string]*token.Token, len(n.Values))
		for _, entry := range n.Values {
			s.checkKey(entry.Key, seen)
			s.checkNode(entry.Value)
		}
	}
}

func (s *source) checkKey(key ast.MapKeyNode, seen map[string]*token.Token) {
	switch key.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
	case *ast.MergeKeyNode:
		s.fail(key, "merges are not allowed", "write the keys out")
		return
	default:
		s.fail(key, "a key must be a plain word", "")
		return
	}
	t := key.GetToken()
	if first := seen[t.Value]; first != nil {
		s.fail(key, fmt.Sprintf("the key %s appears twice", quoted(t.Value)), fmt.Sprintf("the first is in line %d", first.Position.Line))
		return
	}
	seen[t.Value] = t
}

// fail reports a mistake at a node.
func (s *source) fail(n ast.Node, problem, hint string) {
	at := position(n)
	s.add(at.Line, at.Column, problem, hint)
}

func (s *source) add(line, column int, problem, hint string) {
	if len(s.mistakes) == maxMistakes {
		return
	}
	s.mistakes = append(s.mistakes, &Mistake{File: s.file, Line: line, Column: column,
		Problem: problem, Hint: hint, Excerpt: text.Excerpt(s.line(line), line, column)})
}

// whole reports a mistake that concerns the whole file.
func (s *source) whole(problem string) {
	s.mistakes = append(s.mistakes, &Mistake{File: s.file, Problem: problem})
}

// line returns the n-th line, counted from one.
func (s *source) line(n int) string {
	rest := s.content
	for ; n > 1; n-- {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// position returns where a node begins. For a block mapping that is its first key,
// since its own token is its first colon.
func position(n ast.Node) *token.Position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken().Position
	}
	return n.GetToken().Position
}
