package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
)

// A decoded exchange without a request is not LLM traffic or cannot be read; one
// with a request and a reason has no answer.
type decoded struct {
	route   route
	request *request
	reply   *reply
	reason  Reason
}

// decode decodes an exchange. A memory may know much of its request.
func decode(x *Exchange, with Decoders, memory *Memory) (d decoded) {
	d.route = routeOf(x.Method, x.URL)
	if d.reason = d.route.reason; d.reason != None {
		return d
	}
	asked, why := with.plain(x.Request, "")
	readable := why == None
	asked = bytes.TrimSpace(asked)
	var remembered *request
	if memory != nil && readable && d.route.api != nil && !d.route.fetch {
		remembered = memory.asked(d.route.api, asked)
	}
	if remembered == nil && !json.Valid(asked) {
		readable = readable && len(asked) == 0
		asked = nil
	}
	parts, whole := frames(x.Response)
	if !whole {
		var answer []byte
		answer, why = with.plain(x.Response, x.Encoding)
		if why == Compressed {
			d.reason = Compressed
			return d
		}
		parts, whole = payloads(answer)
		whole = whole && why == None
	}
	if d.route.api == nil {
		var firstPart json.RawMessage
		if len(parts) > 0 {
			firstPart = parts[0]
		}
		r := routeByShape(asked, firstPart)
		d.route.api, d.reason = r.api, r.reason
		if d.reason != None {
			return d
		}
	}
	switch {
	case d.route.fetch:
		d.request = &request{}
	case x.URL == "" && len(asked) == 0:
		d.request = &request{messages: []Message{{Role: User}}} // only the answer was recorded
	case !readable:
		d.reason = Unreadable
		return d
	case remembered != nil:
		d.request = remembered
	default:
		if d.request, readable = d.route.api.asked(asked); !readable {
			d.request, d.reason = nil, Unreadable
			return d
		}
	}
	d.request.model = cmp.Or(d.request.model, d.route.model)
	d.reply, d.reason = d.route.answer(x.Status, parts, whole)
	return d
}

// answer decodes the answer. whole: it was complete, with nothing else in it.
func (r *route) answer(status int, parts []json.RawMessage, whole bool) (*reply, Reason) {
	switch {
	case status >= 300:
		return nil, ErrorAnswer
	case len(parts) == 0 && !whole:
		return nil, Unreadable
	case len(parts) == 0:
		return nil, NoAnswer
	}
	got, why := r.api.reply(parts)
	if why == None && !got.pending && got.empty() {
		why = NoAnswer
		if !whole {
			why = Unreadable
		}
	}
	return got, why
}
