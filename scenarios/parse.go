package scenarios

import "path"

// Parse reads the text of one scenario file, such as one that something else
// holds in itself. name stands for the file in messages and says the suite, its
// folder. The error is of type [Mistakes].
func Parse(name, text string) (*Scenario, error) {
	l := loader{files: map[string]bool{}, ids: map[string]*Scenario{}, variants: map[string]*Variant{}}
	s := &source{file: name}
	if len(text) > maxFileBytes {
		s.whole("is too large")
	} else {
		s.parse(text)
	}
	l.add(s, path.Base(path.Dir(name)))
	if err := l.mistakes.err(); err != nil {
		return nil, err
	}
	return l.loaded[0], nil
}
