package endpoint

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// A pricesFile is a file of prices that is being read.
type pricesFile struct {
	file     string
	lines    []string
	mistakes scenarios.Mistakes
}

const priceHint = "write the dollars for a million tokens, such as 2.50, with up to nine decimals"

func parsePrices(path, text string) (Prices, error) {
	f := &pricesFile{file: path, lines: strings.Split(text, "\n")}
	prices := Prices{}
	f.mapping(f.root(text), "model: {in: 2.50, out: 10.00}", func(name string, at *token.Token, value ast.Node) {
		if name == "" || len(name) > maxName {
			f.wrong(at, "", "the name of a model must have 1 to %d bytes", maxName)
			return
		}
		prices[name] = f.price(at, value)
	})
	if len(f.mistakes) > 0 {
		return nil, f.mistakes
	}
	return prices, nil
}

// root parses the file. It returns nil if that fails or the file is empty.
func (f *pricesFile) root(content string) (root ast.Node) {
	defer func() {
		if p := recover(); p != nil { // the parser panics over some invalid files
			f.mistakes = append(f.mistakes, &scenarios.Mistake{File: f.file, Problem: "is not valid YAML"})
		}
	}()
	file, err := parser.ParseBytes([]byte(content), 0, parser.AllowDuplicateMapKey())
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		f.wrong(syntax.GetToken(), "", "%s", text.Line(syntax.GetMessage()))
		return nil
	}
	if err != nil {
		f.mistakes = append(f.mistakes, &scenarios.Mistake{File: f.file, Problem: text.Line(err.Error())})
		return nil
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root != nil:
			f.wrong(doc.Body.GetToken(), "put everything into the first document", "a second document begins here")
		default:
			root = doc.Body
		}
	}
	return root
}

// mapping calls each for every key of a mapping. form is an example for the hints.
func (f *pricesFile) mapping(node ast.Node, form string, each func(name string, at *token.Token, value ast.Node)) {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case nil:
		return
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		f.wrong(node.GetToken(), "write "+form, "this must be a mapping")
		return
	}
	seen := map[string]bool{}
	for _, pair := range pairs {
		at := pair.Key.GetToken()
		switch pair.Key.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode:
		default:
			f.wrong(at, "write "+form, "this cannot be a key")
			continue
		}
		if seen[at.Value] {
			f.wrong(at, "", "%s is set twice", text.Quote(at.Value, shownChars))
			continue
		}
		seen[at.Value] = true
		each(at.Value, at, pair.Value)
	}
}

func (f *pricesFile) price(at *token.Token, node ast.Node) (price Price) {
	fields := map[string]*int64{"in": &price.In, "out": &price.Out}
	const form = "{in: 2.50, out: 10.00}"
	f.mapping(node, form, func(name string, at *token.Token, value ast.Node) {
		into := fields[name]
		if into == nil {
			f.wrong(at, "a price has in and out", "unknown key %s", text.Quote(name, shownChars))
			return
		}
		delete(fields, name)
		f.amount(value, into)
	})
	for _, name := range []string{"in", "out"} {
		if len(f.mistakes) == 0 && fields[name] != nil {
			f.wrong(at, "write "+form, "%s is missing", name)
		}
	}
	return price
}

var decimal = regexp.MustCompile(`^([0-9]{1,6})(?:\.([0-9]{1,9}))?$`)

// amount parses dollars and stores nano-dollars.
func (f *pricesFile) amount(node ast.Node, into *int64) {
	switch node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		if m := decimal.FindStringSubmatch(node.GetToken().Value); m != nil {
			digits := m[1] + m[2] + strings.Repeat("0", 9-len(m[2]))
			*into, _ = strconv.ParseInt(digits, 10, 64) // 15 digits fit
			return
		}
	}
	f.wrong(node.GetToken(), priceHint, "a price must be a number from 0 to 999999, not %s", text.Quote(node.GetToken().Value, shownChars))
}

// shownChars is how many characters of a text a message shows.
const shownChars = 40

// maxMistakes is how many mistakes of a file are reported.
const maxMistakes = 100

// wrong adds a mistake at a position of the file.
func (f *pricesFile) wrong(at *token.Token, hint, format string, args ...any) {
	if len(f.mistakes) == maxMistakes {
		return
	}
	m := &scenarios.Mistake{File: f.file, Line: at.Position.Line, Column: at.Position.Column, Problem: fmt.Sprintf(format, args...), Hint: hint}
	if i := m.Line - 1; i >= 0 && i < len(f.lines) {
		m.Excerpt = text.Excerpt(f.lines[i], m.Line, m.Column)
	}
	f.mistakes = append(f.mistakes, m)
}
