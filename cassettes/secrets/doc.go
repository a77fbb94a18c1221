// Package secrets finds secrets and personal data in what is recorded of a
// conversation, and puts placeholders in their places.
//
// Keys and tokens are found by the rules of gitleaks (gitleaks.toml), and by
// some of our own: the keys of model providers, Authorization headers, JSON Web
// Tokens, private keys, credentials in URLs, e-mail addresses, telephone numbers
// and payment cards. A placeholder says which rule has found the value, and
// which value it was: in one conversation, [email-2] is the second e-mail
// address that was met, everywhere. A placeholder that comes in with a text
// keeps its number, so that a recording, whose texts hold placeholders, is
// numbered as it was.
//
// A text is looked at as what it is, whatever its Content-Type says. In a JSON
// document the keys and the strings are redacted, each together with its key
// ("password": "…"), and what is JSON in a string likewise. In a stream of
// events (SSE) the strings at one place of the events' JSON are put together
// first, so that a secret that comes in pieces is found; its placeholder stands
// in the first piece, and is taken out of the others. An array of events, which
// Gemini's API sends, is a stream too. Everywhere else JSON's and
// URLs' escapes are undone first. No byte that is not of a secret is changed.
//
// An answer that is played holds a placeholder and not its value. So a value that
// an answer was the first to tell, and that comes from elsewhere later on, is a
// new one when the recording is played. And what an answer alone has told, and no
// later request, reserves its number only if the answer is looked at as well.
//
// A secret is known by its form or by what stands before it. A password that is
// told in plain words is not found, and neither is a number of a JSON document,
// nor what was encoded in base64. A value is not looked for by itself: where the
// same password stands without its key it stays.
package secrets
