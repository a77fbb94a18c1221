package serve

import (
	"bytes"
	"net/http"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// compactPath is where a client of the Responses API asks for a shorter input that says
// the same.
const compactPath = "/v1/responses/compact"

// compact answers such a request, which is an aside: what the user said stays, and an
// item in place of all else has the text of an aside. The script does not know that item
// and begins anew, as it does after a summary that the client asks for itself.
func (x *exchange) compact() {
	body := x.bodies.Get().(*bytes.Buffer)
	defer x.release(body)
	v, refused := x.object(body)
	var q *question
	if refused == nil {
		var err error
		if q, err = x.api.read(v); err != nil {
			refused = badRequest(err)
		}
	}
	if refused == nil {
		refused = x.choose(q)
	}
	if refused != nil {
		x.refuse(refused)
		return
	}
	e := x.entry
	e.Scenario, e.Seed, e.Messages, e.Aside = x.scene.name, x.seed, len(q.history), true
	if x.journal.observe != nil {
		said := fakes.Said{Text: asideText, Finish: loop.FinishStop}
		x.seen.History = q.history
		x.saw(&said, &reply{created: x.came.Unix(), model: q.model, text: said.Text, finish: said.Finish}, nil)
	}
	x.begin()
	x.json(appendCompacted(nil, v.field("input"), x.came.Unix(), estimate(body.Bytes())))
	x.end(http.StatusOK, false)
}

// appendCompacted writes the answer.
func appendCompacted(b []byte, input value, created, tokens int64) []byte {
	b = appendNumber(append(b, `{"id":"resp_compacted","object":"response.compaction","created_at":`...), "", created)
	b = append(b, `,"output":[`...)
	if input.is('"') {
		b = append(append(append(b, `{"type":"message","role":"user","content":[{"type":"input_text","text":`...), input...), `}]},`...)
	}
	for item := range input.items() {
		if item.field("role").text() == "user" {
			b = append(append(b, item...), ',')
		}
	}
	b = appendText(append(b, `{"id":"cmp_1","type":"compaction","encrypted_content":`...), asideText)
	written := estimate([]byte(asideText))
	b = appendNumber(append(b, `}],"usage":{"input_tokens":`...), "", tokens)
	b = appendNumber(append(b, `,"input_tokens_details":{"cached_tokens":0},"output_tokens":`...), "", written)
	return append(appendNumber(append(b, `,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":`...), "", tokens+written), `}}`...)
}
