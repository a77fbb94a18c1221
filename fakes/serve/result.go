package serve

import "strings"

// denials are the beginnings of results of denied calls: the words of package loop,
// then those of popular agents and SDKs.
var denials = []string{
	"permission denied by the user", "tool call execution denied", "tool execution denied", "tool execution was not approved",
	"user rejected", "the user doesn't want to proceed", "the user denied",
}

// vetoes are the beginnings, and vetoParts the middles, of results of vetoed and
// refused calls: the words of package loop, which follow "Error: ".
var (
	vetoes = []string{
		"this call was vetoed", "this call was not run", "circuit breaker triggered", "detector ", "at most ",
		"maximum function calls", "maximum tries", "maximum tokens", "maximum cost", "maximum steps", "maximum depth", "maximum sub-runs",
	}
	vetoParts = []string{" is disabled after ", " may be called "} // after the tool's name
)

// denied reports whether a result is that of a denied call.
func denied(text string) bool {
	text, _ = cutError(text)
	return beginsWithOne(text, denials)
}

// vetoed reports whether a result is that of a vetoed or refused call.
func vetoed(text string) bool {
	text, ok := cutError(text)
	if !ok {
		return false
	}
	for _, part := range vetoParts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return beginsWithOne(text, vetoes)
}

// nudged reports whether a message is the nudge of a detector of package loop.
func nudged(text string) bool {
	return beginsWithOne(text, []string{"circuit breaker triggered:", "detector "}) && strings.Contains(text, " Do not repeat it: ")
}

// failedText reports whether a result reads like that of a failed call: it begins
// with "Error", as those of package loop do, or with another client's word for it, is
// that of a denied call, or is a JSON object with an error.
func failedText(text string) bool {
	text = strings.TrimSpace(text)
	if beginsWithOne(text, failing) || denied(text) {
		return true
	}
	for _, part := range failingParts {
		if strings.Contains(text, part) {
			return true
		}
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

// cutError cuts a leading "Error:" from a text, and reports whether it was there.
func cutError(text string) (rest string, ok bool) {
	text = strings.TrimSpace(text)
	if !begins(text, "error:") {
		return text, false
	}
	return strings.TrimSpace(text[len("error:"):]), true
}

func beginsWithOne(text string, words []string) bool {
	for _, w := range words {
		if begins(text, w) {
			return true
		}
	}
	return false
}

// begins reports whether a text begins with a word, in upper or lower case.
func begins(text, word string) bool {
	return len(text) >= len(word) && strings.EqualFold(text[:len(word)], word)
}
