package serve

import (
	"regexp"
	"strings"
)

// failing are the beginnings of results with which clients say that a call failed,
// and failingParts the other words for it.
var (
	failing      = []string{"error", "toolexception:", "mcp error -", "tool call error:"}
	failingParts = []string{"reported tool error for function call"}
)

// plain returns a result as the tool gave it, without what popular clients put round
// it: parts in an array or an object, as JSON in a text, the time that codex puts
// before it, and the tags of gemini-cli. failed is set if the wrapping says so.
func plain(text string) (inner string, failed bool) {
	for range 3 { // an object in a text with a time before it
		next, f, ok := unwrapped(text)
		failed = failed || f
		if !ok {
			break
		}
		text = next
	}
	return text, failed
}

var (
	wallTime  = regexp.MustCompile(`^Wall time: [0-9.]+ seconds\r?\nOutput:\r?\n?`)
	untrusted = regexp.MustCompile(`(?s)^\s*<untrusted_context\b[^>]*>\r?\n?(.*?)\r?\n?</untrusted_context>\s*$`)
)

// unwrapped removes one wrapping, and reports whether there was one.
func unwrapped(text string) (inner string, failed, ok bool) {
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, "Wall time: "):
		if at := wallTime.FindStringIndex(text); at != nil {
			return text[at[1]:], false, true
		}
	case strings.HasPrefix(trimmed, "<untrusted_context"):
		if m := untrusted.FindStringSubmatch(text); m != nil {
			return m[1], false, true
		}
	case strings.HasPrefix(trimmed, "["), strings.HasPrefix(trimmed, "{"):
		if !strings.Contains(trimmed, `"text"`) {
			return text, false, false
		}
		v, err := parse([]byte(trimmed))
		if err != nil {
			return text, false, false
		}
		failed = v.field("isError").is('t')
		if v.is('{') {
			v = v.field("content")
		}
		inner, ok = partTexts(v)
		return inner, failed && ok, ok
	}
	return text, false, false
}

// partTexts joins the texts of an array that holds only parts with a text.
func partTexts(v value) (text string, ok bool) {
	var b strings.Builder
	for part := range v.items() {
		switch part.field("type").text() {
		case "text", "input_text", "output_text":
		default:
			return "", false
		}
		if !part.field("text").is('"') {
			return "", false
		}
		b.WriteString(part.field("text").text())
		ok = true
	}
	return b.String(), ok
}
