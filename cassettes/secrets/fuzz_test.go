package secrets

import (
	"testing"
)

// What is redacted holds no secret and stays as it is, and JSON stays JSON.
func FuzzRedact(f *testing.F) {
	for _, p := range plants() {
		f.Add(p.text())
		f.Add(`{"a":"` + escaped(p.text(), true) + `","b":"` + escaped(`{"`+escaped(p.value, false)+`":[1]}`, false) + `"}`)
		half := len(p.value) / 2
		for _, w := range wires {
			f.Add(w.written("x", p.before+p.value[:half], p.value[half:]+p.after()))
		}
	}
	for _, in := range []string{`{"password":"a b","cookie":["x","[secret-1]"]}`, `{"authorization":"Bearer [bearer-1]"}`, "token: abc\npin=12345&otp=1 password = 'x",
		"user=a&password=x%26y&note=Cookie%3A+sid%3D1+%2B", "Set-Cookie: a=b; c=d\nDB_PASSWORD=1&2-[secret-1]x", "DE89 3704 0044 0532 0130 00 DE89370400440532013000"} {
		f.Add(in)
	}
	f.Add("%5Bemail-1%5D [email-2] a@[email-3].de %61@b.de \\u0061@b.de \\\\u0040")
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1<<14 {
			return
		}
		r := redactor(t, Options{})
		out := r.Text(in)
		if rule := r.Leftover(out); rule != "" {
			t.Errorf("%s finds something in %q of %q", rule, out, in)
		}
		if again := r.Text(out); again != out {
			t.Errorf("%q becomes %q and then %q", in, out, again)
		}
		if again := redactor(t, Options{}).Text(in); again != out {
			t.Errorf("%q becomes %q, and of another redactor %q", in, out, again)
		}
		if isJSON(in) && !isJSON(out) {
			t.Errorf("%q was JSON, and %q is not", in, out)
		}
		if url := r.URL(in); r.URL(url) != url || r.Leftover(url) != "" {
			t.Errorf("the URL %q becomes %q and then %q", in, url, r.URL(url))
		}
	})
}
