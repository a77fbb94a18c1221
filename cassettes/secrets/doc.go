// Package secrets finds secrets and personal data in texts of models, tools and
// endpoints, and puts placeholders in their places. It is the only redactor of
// the house: cassettes, results, traces, reports, goldens, spans and warnings
// pass through it as the last step before they are written or printed.
//
//	r, err := secrets.New(secrets.Options{})
//	…
//	fmt.Println(r.Text("Ask ada@example.org.")) // Ask [email-1].
//
// A [Redactor] finds
//
//   - keys and tokens, by the rules of gitleaks (gitleaks.toml) and some of our
//     own: the keys of model providers, Authorization headers, cookies, JSON Web
//     Tokens, private keys, credentials in URLs;
//   - personal data: e-mail addresses, telephone numbers, payment cards, bank
//     accounts (IBAN), social security numbers of the United States;
//   - whatever is assigned to a name that says secret, such as password or
//     access_token: each string under such a key of a JSON document, and in other
//     texts what follows the name and a sign ("token": "…", Cookie: …,
//     export DB_PASSWORD=…). What the conversation's author wrote word for word
//     is not secret because of its name: see [Options].
//
// A placeholder says which rule found the value and which value it was: in one
// conversation [email-2] is the second e-mail address, everywhere. A placeholder
// that comes in with a text keeps its number, so that a recording, whose texts
// hold placeholders, gets the same numbers again.
//
// The text itself shows what it is, whatever its Content-Type says. In a JSON
// document the keys and the strings are redacted, each string together with its
// key, and JSON in a string likewise. In a stream of events (SSE) the strings at
// one place of the events' JSON are joined first, so that a secret that comes in
// pieces is found; its placeholder is in the first piece, and the rest of it is
// removed from the others. An array of events, which Gemini's API sends, is a
// stream too. In all other texts the escapes of JSON, URLs and forms are undone
// first. No byte outside a secret changes.
//
// Playback returns placeholders, so a value first seen in an answer counts as new
// when it later arrives from elsewhere. A value that only an answer holds, and
// no later request, reserves its number only if the answer is redacted as well.
//
// Base64 is decoded once. Not found are: a password in plain words without its
// name, a number of a JSON document, and IP and MAC addresses, which are not looked
// for. A value is not looked for by itself: where the same password stands
// without its name, it stays.
package secrets
