package secrets

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

var (
	jane = "jane@mail." + "example.org"
	bob  = "bob@" + "corp.io"
	eve  = "eve@" + "corp.io"
)

// A value has one placeholder, numbered as it was met first.
func TestNumbers(t *testing.T) {
	r := redactor(t, Options{})
	phone := "+49 30 " + "1234 5678"
	for _, c := range []struct{ in, want string }{
		{jane + " and " + bob, "[email-1] and [email-2]"},
		{bob + ", " + phone, "[email-2], [phone-1]"},
		{`{"b":"` + eve + `","a":"` + jane + `"}`, `{"b":"[email-3]","a":"[email-1]"}`},
	} {
		if got := r.Text(c.in); got != c.want {
			t.Errorf("%q becomes %q, not %q", c.in, got, c.want)
		}
	}
	if got, want := r.Count(), map[string]int{"email": 3, "phone": 1}; !maps.Equal(got, want) {
		t.Errorf("Count is %v, not %v", got, want)
	}
}

// A value that is named is a secret as it stands, also in pieces; a redactor that
// was not told of it leaves its placeholder as it is.
func TestValues(t *testing.T) {
	r := redactor(t, Options{Values: []string{"", "a.b[c"}})
	event := func(text string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
	}
	for _, c := range []struct{ in, want string }{
		{"it is a.b[c, not axb[c", "it is [value-1], not axb[c"},
		{event("so a.") + event("b[c!"), event("so [value-1]") + event("!")},
	} {
		if got := r.Body("", c.in); got != c.want {
			t.Errorf("%q becomes %q, not %q", c.in, got, c.want)
		}
	}
	const masked = "Authorization: Bearer [value-1], api_key = '[value-1]'"
	if got := redactor(t, Options{}).Text(masked); got != masked {
		t.Errorf("%q becomes %q", masked, got)
	}
	if text, err := json.Marshal(Options{Values: []string{"a.b[c"}}); err != nil || string(text) != "{}" {
		t.Errorf("the options tell %s, %v", text, err)
	}
}

// A recording, whose responses hold placeholders, is numbered as it was.
func TestReplay(t *testing.T) {
	first := `{"messages":["write to ` + jane + `"]}`
	answer := `{"content":"shall ` + bob + ` get a copy?"}`
	second := func(said string) string {
		return `{"messages":["write to ` + jane + `","` + said + `","no, ` + eve + `"]}`
	}
	record := redactor(t, Options{})
	asked := record.Body("application/json", first)
	answered := record.Body("application/json", answer)
	again := record.Body("application/json", second("shall "+bob+" get a copy?"))
	if want := `{"messages":["write to [email-1]","shall [email-2] get a copy?","no, [email-3]"]}`; again != want {
		t.Fatalf("recorded %s, not %s", again, want)
	}
	replay := redactor(t, Options{})
	if got := replay.Body("application/json", first); got != asked {
		t.Errorf("the first request is %s, and was %s", got, asked)
	}
	if rule := replay.Leftover(answered); rule != "" {
		t.Errorf("Leftover finds %s in %s", rule, answered)
	}
	if got := replay.Body("application/json", second("shall [email-2] get a copy?")); got != again {
		t.Errorf("the second request is %s, and was %s", got, again)
	}
}

// Leftover looks only: it reserves no number.
func TestLeftover(t *testing.T) {
	r := redactor(t, Options{})
	if got := r.Leftover("[email-7] and " + jane); got != "email" {
		t.Errorf("Leftover is %q, not email", got)
	}
	if got := r.Text(jane); got != "[email-1]" {
		t.Errorf("it becomes %s", got)
	}
	if got := r.Leftover("nothing"); got != "" {
		t.Errorf("Leftover is %q", got)
	}
}

// A text cannot use up the numbers, nor use the names of other placeholders.
func TestStrangePlaceholders(t *testing.T) {
	for in, want := range map[string]string{
		"[email-999999999999] " + jane: "[email-999999999999] [email-1]",
		"[email-0] [email-01] " + jane: "[email-0] [email-01] [email-1]",
		"[nothing-5] [-1] [] [" + jane: "[nothing-5] [-1] [] [[email-1]",
		"[email-1000000] " + jane:      "[email-1000000] [email-1000001]",
	} {
		r := redactor(t, Options{})
		if got := r.Text(in); got != want || r.Text(got) != got {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	ticket := "TICKET-" + "4711"
	r := redactor(t, Options{Off: []string{"phone"}, Patterns: map[string]string{"ticket": `TICKET-\d+`, "seat": `seat (\d+)`}, Allow: []string{strings.ToUpper(bob), "@mail.example.org"}})
	in := strings.Join([]string{jane, bob, eve, "+49 30 " + "1234 5678", ticket, "seat 12"}, ", ")
	want := strings.Join([]string{jane, bob, "[email-1]", "+49 30 " + "1234 5678", "[ticket-1]", "seat [seat-1]"}, ", ")
	if got := r.Text(in); got != want || r.Text(got) != got {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := r.Count(), map[string]int{"email": 1, "ticket": 1, "seat": 1}; !maps.Equal(got, want) {
		t.Errorf("Count is %v, not %v", got, want)
	}
}

func TestOptionErrors(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Off: []string{"emial"}}, `redaction: there is no pattern "emial": did you mean email?`},
		{Options{Off: []string{"github"}}, `redaction: there is no pattern "github": did you mean github-app-token, github-fine-grained-pat or github-oauth?`},
		{Options{Off: []string{""}}, `redaction: there is no pattern ""`},
		{Options{Patterns: map[string]string{"mine": "("}}, "redaction: the pattern mine is not a regular expression of Go: error parsing regexp: missing closing ): `(`"},
		{Options{Patterns: map[string]string{"My rule": "x"}}, `redaction: the pattern "My rule" cannot have this name: use lower-case letters, digits and -, at most 40`},
		{Options{Patterns: map[string]string{"email": "x"}}, "redaction: there is a pattern email already: give yours another name"},
	} {
		if _, err := New(c.options); err == nil || err.Error() != c.want {
			t.Errorf("%v: got\n%v\nwant\n%s", c.options, err, c.want)
		}
	}
}

// A secret that only shows when another one is masked is found, and an own rule
// that finds everything ends.
func TestUncovered(t *testing.T) {
	for _, expr := range []string{`.`, `a*`, `.*`, `\b\w`, `^.`, `.$`, `(?s).{2}`, `[a-z]-`, `email`} {
		r := redactor(t, Options{Patterns: map[string]string{"mine": expr}})
		for _, in := range []string{"abc " + jane + " def", `{"a":"abc","b":["` + bob + `"]}`, strings.Repeat("ab ", 100)} {
			out := r.Text(in)
			if rule := r.Leftover(out); rule != "" || r.Text(out) != out {
				t.Errorf("%s: %s finds something in %q", expr, rule, out)
			}
		}
	}
}

// Numbers, the order of keys, white space and escapes stay.
func TestJSON(t *testing.T) {
	in := "{ \"z\" : 1.0e+2, \"b\":[12345678901234567890, \"\\u0041\\/\\ud83d\\ude00 " + jane + "\\n\"],\n\t\"a\":null, \"" + bob + "\":true, \"z\":\"\\\\\" }"
	want := "{ \"z\" : 1.0e+2, \"b\":[12345678901234567890, \"\\u0041\\/\\ud83d\\ude00 [email-1]\\n\"],\n\t\"a\":null, \"[email-2]\":true, \"z\":\"\\\\\" }"
	r := redactor(t, Options{})
	if got := r.JSON(in); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if card := "5500" + "0000" + "0000" + "0004"; r.JSON(card) != card {
		t.Errorf("a number has become %s", r.JSON(card))
	}
}

func TestURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://api.internal/v1/x?a=1&b=2#f":               "https://api.internal/v1/x?a=1&b=2#f",
		"/v1beta/models/m:generate?alt=sse&key=" + "abc123": "/v1beta/models/m:generate?alt=sse&key=[token-1]",
		"https://me:" + "pass@api.internal/":                "https://[password-1]@api.internal/",
		"https://tok" + "en@api.internal/?token=" + "t":     "https://[password-1]@api.internal/?token=[token-1]",
		"https://x/?sig=" + "a%2Fb&X-Amz-Signature=" + "1":  "https://x/?sig=[token-1]&X-Amz-Signature=[token-2]",
		"https://x/?api_key=[token-4]&key=%5Btoken-2%5D":    "https://x/?api_key=[token-4]&key=%5Btoken-2%5D",
		"https://x/?monkey=banana&keys=5":                   "https://x/?monkey=banana&keys=5",
		"https://x/u/" + "bob%40corp.io?q=" + "bob@corp.io": "https://x/u/[email-1]?q=[email-1]",
	} {
		r := redactor(t, Options{})
		if got := r.URL(in); got != want || r.URL(got) != got {
			t.Errorf("%s\nbecomes %s\nnot     %s", in, got, want)
		}
	}
}

func ExampleRedactor_Text() {
	r, err := New(Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Text("Ask ada@example.org or bob@example.org. Ada is ada@example.org."))
	// Output: Ask [email-1] or [email-2]. Ada is [email-1].
}
