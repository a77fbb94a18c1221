package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strconv"
	"unicode/utf8"
)

// count answers a request for the number of tokens of a request. Such a request is
// not in the journal unless it is refused.
func (x *exchange) count() {
	body := x.bodies.Get().(*bytes.Buffer)
	defer x.release(body)
	v, refused := x.object(body)
	if refused == nil {
		if _, err := x.api.read(v); err != nil {
			refused = badRequest(err)
		}
	}
	switch {
	case refused != nil:
		x.refuse(refused)
	case x.api.name() == "gemini":
		x.json(append(appendNumber(nil, `{"totalTokens":`, estimate(body.Bytes())), '}'))
	default:
		x.json(append(appendNumber(nil, `{"input_tokens":`, estimate(body.Bytes())), '}'))
	}
}

// object reads the body of a request, which must be JSON.
func (x *exchange) object(body *bytes.Buffer) (value, *refusal) {
	if refused := x.read(body); refused != nil {
		return nil, refused
	}
	v, err := parse(body.Bytes())
	if err != nil {
		return nil, badRequest(err)
	}
	return v, nil
}

// estimate returns about how many tokens a text has: a quarter of its characters.
func estimate(text []byte) int64 { return int64(utf8.RuneCount(text)+3) / 4 }

// tokens returns about how many tokens a reply has.
func (r *reply) tokens() int64 {
	n := utf8.RuneCountInString(r.text)
	for i := range r.calls {
		n += utf8.RuneCountInString(r.calls[i].Name) + utf8.RuneCountInString(r.calls[i].Args)
	}
	return int64(n+3) / 4
}

// Dimensions of an embedding.
const (
	usualDimensions = 1536
	maxDimensions   = 4096
	maxEmbeddings   = 256
)

// embed answers a request for embeddings: all texts have the same vector, of length
// one. Such a request is not in the journal unless it is refused.
func (x *exchange) embed() {
	body := x.bodies.Get().(*bytes.Buffer)
	defer x.release(body)
	v, refused := x.object(body)
	if refused != nil {
		x.refuse(refused)
		return
	}
	dimensions := usualDimensions
	if d := v.field("dimensions"); !d.null() {
		n, err := strconv.Atoi(string(d))
		if err != nil || n < 1 || n > maxDimensions {
			x.refuse(&refusal{http.StatusBadRequest, "bad_request", "dimensions: must be a whole number from 1 to " + strconv.Itoa(maxDimensions)})
			return
		}
		dimensions = n
	}
	n := embeddings(v.field("input"))
	if n == 0 || n > maxEmbeddings {
		x.refuse(&refusal{http.StatusBadRequest, "bad_request", "input: must be a text, or 1 to " + strconv.Itoa(maxEmbeddings) + " texts"})
		return
	}
	x.json(appendEmbeddings(v, n, dimensions, estimate(body.Bytes())))
}

// embeddings returns the number of texts of an input: a text, an array of texts, the
// numbers of one text, or an array of such arrays.
func embeddings(input value) (n int) {
	if input.is('"') {
		return 1
	}
	for item := range input.items() {
		if !item.is('"') && !item.is('[') {
			return 1
		}
		n++
	}
	return n
}

func appendEmbeddings(request value, n, dimensions int, tokens int64) []byte {
	vector := appendVector(nil, dimensions, request.field("encoding_format").text() == "base64")
	b := []byte(`{"object":"list","data":[`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, `{"object":"embedding","index":`, int64(i))
		b = append(append(append(b, `,"embedding":`...), vector...), '}')
	}
	b = appendText(append(b, `],"model":`...), request.field("model").text())
	b = appendNumber(b, `,"usage":{"prompt_tokens":`, tokens)
	return append(appendNumber(b, `,"total_tokens":`, tokens), `}}`...)
}

// appendVector writes a vector of equal numbers as an array, or in base64 as 32-bit
// numbers, the low byte first.
func appendVector(b []byte, dimensions int, base64ed bool) []byte {
	each := float32(1 / math.Sqrt(float64(dimensions)))
	if base64ed {
		raw := make([]byte, 0, 4*dimensions)
		for range dimensions {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(each))
		}
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), raw), '"')
	}
	b = append(b, '[')
	for i := range dimensions {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(each), 'g', -1, 32)
	}
	return append(b, ']')
}
