package tape

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/dnaeon/go-vcr/v2/cassette"
	"gopkg.in/yaml.v2"
)

// unfolded returns the YAML of a cassette, with each text of one line on one line,
// so that a search finds it. yaml.v2 folds lines after 80 columns, and only a switch
// for the whole process turns that off. So words replace the texts while it writes,
// and the texts replace the words afterwards.
func unfolded(all []*cassette.Interaction) ([]byte, error) {
	sum := sha256.New()
	for _, in := range all {
		for _, text := range texts(in) {
			fmt.Fprintf(sum, "%q", text)
		}
	}
	w := words{prefix: fmt.Sprintf("text-%x-", sum.Sum(nil))} // a prefix that is in no text
	c := cassette.New("")
	for _, in := range all {
		one := *in
		for _, s := range []*string{&one.URL, &one.Request.Body, &one.Response.Body, &one.Status} {
			*s = w.replace(*s)
		}
		one.Request.Headers, one.Response.Headers, one.Form = w.replaceAll(one.Request.Headers), w.replaceAll(one.Response.Headers), w.replaceAll(one.Form)
		c.Interactions = append(c.Interactions, &one)
	}
	if w.err != nil {
		return nil, w.err
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = strings.NewReplacer(w.pairs...).WriteString(&b, string(text))
	return b.Bytes(), err
}

// words replace texts that yaml.v2 might fold.
type words struct {
	prefix string
	pairs  []string // each word, followed by the YAML of its text
	err    error
}

// folds matches the places where yaml.v2 folds a text: at a space. In double quotes
// a backslash precedes the next space, if there is one.
var folds = regexp.MustCompile(`\n *(\\ )?`)

// replace returns the word for a text. It returns the text itself if yaml.v2 does not
// fold it, or if a line separator in it is followed by the indentation.
func (w *words) replace(text string) string {
	if !strings.Contains(text, " ") || !utf8.ValidString(text) {
		return text
	}
	out, err := yaml.Marshal(text)
	if err != nil {
		w.err = err
		return text
	}
	line := strings.TrimSuffix(string(out), "\n")
	switch {
	case line[0] == '"':
		line = folds.ReplaceAllStringFunc(line, func(fold string) string { return strings.Repeat(" ", 1+strings.Count(fold, `\`)) })
	case line[0] == '|' || strings.ContainsAny(line, "\u2028\u2029"):
		return text
	case line[0] == '\'':
		line = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	default:
		line = text
	}
	word := fmt.Sprintf("%s%08d", w.prefix, len(w.pairs))
	w.pairs = append(w.pairs, word, line)
	return word
}

func (w *words) replaceAll(headers map[string][]string) map[string][]string {
	out := make(map[string][]string, len(headers))
	for name, values := range headers {
		for _, v := range values {
			out[name] = append(out[name], w.replace(v))
		}
	}
	return out
}

// sameButFolds reports whether two files differ at most in spaces and line breaks, as
// a folded and an unfolded one do.
func sameButFolds(a, b []byte) bool {
	bare := func(r rune) rune {
		if r == ' ' || r == '\n' {
			return -1
		}
		return r
	}
	return bytes.Equal(bytes.Map(bare, a), bytes.Map(bare, b))
}
