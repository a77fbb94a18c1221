package secrets

import (
	"strconv"
	"strings"
)

// maxNumber is the highest number that a placeholder in a text reserves, so that a
// text cannot use the numbers up.
const maxNumber = 1_000_000

// placeholders calls each with the placeholders of a text.
func (r *Redactor) placeholders(text string, each func(start, end int, label string, number int)) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '[')
		if i < 0 {
			return
		}
		start := at + i
		at = start + 1
		end := at
		for end < len(text) && end-at < maxKey && ('a' <= text[end] && text[end] <= 'z' || isDigit(text[end]) || text[end] == '-') {
			end++
		}
		if end == len(text) || text[end] != ']' {
			continue
		}
		dash := at + max(0, strings.LastIndexByte(text[at:end], '-'))
		number, err := strconv.Atoi(text[min(dash+1, end):end])
		if err != nil || number < 1 || text[dash+1] == '0' || number > 2*maxNumber || !r.labels[text[at:dash]] && !builtIn().labels[text[at:dash]] {
			continue
		}
		each(start, end+1, text[at:dash], min(number, maxNumber))
		at = end + 1
	}
}

// masks reports whether a text is a placeholder.
func (r *Redactor) masks(text string) bool {
	is := false
	r.placeholders(text, func(start, end int, _ string, _ int) { is = is || start == 0 && end == len(text) })
	return is
}

// placeholder returns the placeholder of a value.
func (r *Redactor) placeholder(rule *rule, value string) string {
	if p, known := r.given[value]; known {
		return p
	}
	r.numbers[rule.label]++
	p := "[" + rule.label + "-" + strconv.Itoa(r.numbers[rule.label]) + "]"
	r.given[value] = p
	r.count[rule.name]++
	return p
}
