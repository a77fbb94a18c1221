package secrets

// body gives the secrets of a body.
func (f *finder) body(text string) []span { return f.find("", text, 0) }
