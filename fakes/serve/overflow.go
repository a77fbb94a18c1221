package serve

import (
	"fmt"
	"net/http"

	"github.com/agentbench-go/agentbench/fakes"
)

// overflow returns the plan of the answer to a request that is longer than the model's
// window, in the words of its API. The tokens are a quarter of the body's characters.
func (x *exchange) overflow(window int, tokens int64) *plan {
	p := &plan{status: http.StatusBadRequest, refused: true, out: x.streams.Get().(*stream), after: fakes.DefaultModelLatency}
	code, text := "", ""
	switch x.api.name() {
	case "messages":
		text = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, window)
	case "gemini":
		text = fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, window)
	default:
		code = "context_length_exceeded"
		text = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, tokens)
	}
	p.out.marks, p.out.sequence = p.out.marks[:0], 0
	p.out.b = x.api.failure(p.out.b[:0], p.status, code, text, 0)
	p.send(p.after, len(p.out.b))
	return p
}
