package endpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/scenarios"
)

// maxEnv is the largest size of a file of variables.
const maxEnv = 64 << 10

// ReadEnv reads a file of variables such as .env:
//
//	# a comment
//	OPENAI_BASE_URL=http://127.0.0.1:8080/v1
//	export OPENAI_API_KEY='every character counts'
//	OPENAI_MODEL="with \" \\ \$ \n \r \t"  # other backslashes stay
//
// It executes and expands nothing, and does not change the process's environment. A
// text in quotes may have several lines. If a variable is set twice, the last value
// counts. The error is of type [scenarios.Mistakes] and never shows a value; it wraps
// [fs.ErrNotExist] if there is no such file.
//
// hashicorp/go-envparse would replace 90 lines here, but silently cuts A=b#c to b, as
// in a key or a URL, and rejects A=it's, \$ and values of several lines.
func ReadEnv(path string) (map[string]string, error) {
	text, err := readFile(path, maxEnv)
	if err != nil {
		return nil, err
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	r := &envReader{rest: text, line: 1}
	vars := map[string]string{}
	for r.rest != "" {
		name, value, err := r.variable()
		if err != nil {
			return nil, scenarios.Mistakes{{File: path, Line: r.line, Column: 1, Problem: err.Error(), Hint: "write NAME=value, with quotes around a value that has spaces or #"}}
		}
		if name != "" {
			vars[name] = value
		}
	}
	return vars, nil
}

// An envReader reads one variable after another.
type envReader struct {
	rest string
	line int // the line of the last variable
	next int // how many lines that variable has
}

var assignment = regexp.MustCompile(`^(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*`)

// variable reads the next variable. name is "" for an empty line or a comment.
func (r *envReader) variable() (name, value string, err error) {
	r.line += r.next
	line, _, _ := strings.Cut(r.rest, "\n")
	trimmed := strings.TrimLeft(line, " \t")
	if trimmed == "" || trimmed[0] == '#' {
		r.skip(len(line))
		return "", "", nil
	}
	r.rest = r.rest[len(line)-len(trimmed):]
	found := assignment.FindStringSubmatch(trimmed)
	if found == nil {
		return "", "", errors.New("this is not a variable")
	}
	r.rest = r.rest[len(found[0]):]
	value, size, err := envValue(r.rest)
	if err != nil {
		return "", "", err
	}
	r.skip(size)
	return found[1], value, nil
}

// skip skips the rest of a line, which has size bytes.
func (r *envReader) skip(size int) {
	r.next = strings.Count(r.rest[:size], "\n") + 1
	r.rest = strings.TrimPrefix(r.rest[size:], "\n")
}

// envValue reads the value at the beginning of a text. size is where its line ends.
func envValue(text string) (value string, size int, err error) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		line, _, _ := strings.Cut(text, "\n")
		value = line
		for i := range line {
			if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
				value = line[:i]
				break
			}
		}
		return strings.TrimRight(value, " \t"), len(line), nil
	}
	value, end, ok := quotedText(text)
	if !ok {
		return "", 0, fmt.Errorf("the quote %c is not closed", text[0])
	}
	after, _, _ := strings.Cut(text[end:], "\n")
	if tail := strings.TrimLeft(after, " \t"); tail != "" && tail[0] != '#' {
		return "", 0, errors.New("something follows the closing quote")
	}
	return value, end + len(after), nil
}

// quotedText reads a text in quotes. end is the index after the closing quote.
func quotedText(text string) (value string, end int, ok bool) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return b.String(), i + 1, true
		case c == '\\' && quote == '"' && i+1 < len(text):
			i++
			b.WriteString(unescaped(text[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}

// unescaped returns what a backslash and a character mean.
func unescaped(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '"', '\\', '$':
		return string(c)
	}
	return "\\" + string([]byte{c})
}

// A notRead is the error for a file that cannot be read.
type notRead struct {
	scenarios.Mistakes
	err error
}

func (e *notRead) Unwrap() []error { return []error{e.Mistakes, e.err} }

// readFile reads a text file of at most limit bytes.
func readFile(path string, limit int64) (string, error) {
	text, err := capped(path, limit)
	if err == nil {
		return text, nil
	}
	problem := err.Error()
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		problem = "there is no such file"
	case errors.As(err, &p):
		problem = p.Err.Error()
	}
	return "", &notRead{scenarios.Mistakes{{File: path, Problem: problem}}, err}
}

func capped(path string, limit int64) (string, error) {
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() { // opening a pipe could block forever
		return "", errors.New("is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return "", err
	case int64(len(text)) > limit:
		return "", fmt.Errorf("is larger than %d bytes", limit)
	case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
		return "", errors.New("is not a text file")
	}
	return string(text), nil
}
