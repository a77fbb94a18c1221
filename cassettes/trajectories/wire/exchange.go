package wire

import "slices"

// A Turn is one exchange by itself: what the agent sent and what the model answered.
// [Read] joins the exchanges of a file. Whoever joins them as they come, such as a
// proxy, uses [Decode] and [KeyOf], or a [Memory].
type Turn struct {
	Model    string    // "" = unknown
	System   string    // "" = none
	Messages []Message // of the request; the assistant's in a row are one
	// Previous is the id of the response that the request continues, and Stored that
	// of a conversation that the server keeps; "" = none. Messages then has only what
	// is new.
	Previous, Stored string

	ID    string   // of the response, "" = none
	Reply *Message // nil = no answer, or an empty one
	// Pending says that the answer is fetched later, by its ID. Fetched says that the
	// exchange fetched it, so there are no messages.
	Pending, Fetched bool
}

// Decode decodes one exchange, whose bodies may be compressed with gzip or deflate. It
// returns nil and the reason for an exchange that is not a turn. A turn without a reply
// has a reason too, unless it is pending.
func Decode(x *Exchange) (*Turn, Reason) {
	d := decode(x, nil, nil)
	if d.request == nil || d.route.fetch && d.reply == nil {
		return nil, d.reason
	}
	return d.turn(d.request.system.String(), join(d.request.messages, Assistant))
}

// turn returns a turn with that system prompt and those messages.
func (d *decoded) turn(system string, messages []Message) (*Turn, Reason) {
	t := &Turn{Model: d.request.model, System: system, Messages: messages,
		Previous: d.request.previous, Stored: d.request.conversation, Fetched: d.route.fetch}
	if d.reply == nil {
		return t, d.reason
	}
	r := d.reply
	t.ID, t.Pending = r.id, r.pending
	if r.model != "" {
		t.Model = r.model
	}
	switch {
	case d.reason != None || r.pending:
		return t, d.reason
	case r.text == "" && len(r.calls) == 0:
		return t, NoAnswer
	}
	t.Reply = &Message{Role: Assistant, Text: r.text, Calls: r.calls, TokensIn: r.in, TokensOut: r.out, Reply: true}
	return t, None
}

// A Key is what a message says, for comparison: without white space, with arguments
// as values.
type Key struct{ key }

// KeyOf returns the key of a message.
func KeyOf(m *Message) Key { return Key{keyOf(m, nil)} }

// Repeats reports whether the message of a history repeats one that was said before,
// perhaps as the agent has rewritten it: see [Read].
func (k Key) Repeats(said Key) bool { return k.repeats(said.key) }

// Same reports whether two messages say the same and their calls, if any, have the
// same ids.
func (k Key) Same(other Key) bool {
	return k.role == other.role && k.text == other.text && k.calls == other.calls && slices.Equal(k.ids, other.ids)
}

// Role returns the role of the message.
func (k Key) Role() Role { return k.role }

// Text returns the text of the message, in which every white space is one space.
func (k Key) Text() string { return k.text }

// IDs returns the ids of the calls of the message that have one.
func (k Key) IDs() []string { return k.ids }
