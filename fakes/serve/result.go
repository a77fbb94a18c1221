package serve

import "strings"

// failedText reports whether a result reads like that of a call that failed: it
// begins with "Error", as loop's own do, or it is a JSON object with an error.
func failedText(text string) bool {
	text = strings.TrimSpace(text)
	if begins(text, "error") || denied(text) {
		return true
	}
	if !strings.HasPrefix(text, "{") {
		return false
	}
	v, err := parse([]byte(text))
	if err != nil {
		return false
	}
	for name, f := range v.fields() {
		switch string(name) {
		case "error":
			if !f.null() && !f.is('f') && string(f) != `""` {
				return true
			}
		case "isError", "is_error":
			if f.is('t') {
				return true
			}
		}
	}
	return false
}

// begins reports whether a text begins with a word, in whatever case.
func begins(text, word string) bool {
	return len(text) >= len(word) && strings.EqualFold(text[:len(word)], word)
}

// What a result says that was not executed: first in loop's own words, then in
// those of agents and SDKs that are in use.
var (
	denials = []string{"permission denied by the user", "tool execution denied", "tool execution was not approved",
		"user rejected", "the user doesn't want to proceed", "the user denied"}
	vetoes = []string{"this call was vetoed", "this call was not run", "circuit breaker triggered", "detector ",
		"maximum function calls", "maximum tries", "maximum tokens", "maximum cost", "maximum steps", "maximum depth", "maximum sub-runs", "at most "}
)

// denied reports whether a result tells of a denial, vetoed of a veto or a
// refusal.
func denied(text string) bool { return tells(text, denials) }
func vetoed(text string) bool { return tells(text, vetoes) }

func tells(text string, words []string) bool {
	text = strings.TrimSpace(text)
	if begins(text, "error:") {
		text = strings.TrimSpace(text[len("error:"):])
	}
	for _, w := range words {
		if begins(text, w) {
			return true
		}
	}
	return false
}
