package secrets

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// A plant is a secret as a test hides it. It is made of parts when the test
// runs, so that none stands in this repository.
type plant struct {
	kind   string
	before string // what must stand before it to make it one
	value  string
	rule   string
}

const (
	digits = "0123456789"
	small  = "abcdefghijklmnopqrstuvwxyz"
	large  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum  = digits + small + large
)

// random returns n letters, always the same ones for a seed.
func random(seed uint64, n int, of string) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = of[rng.IntN(len(of))]
	}
	return string(b)
}

func plants() []plant {
	dash := func(parts ...string) string { return strings.Join(parts, "-") }
	pem := func(kind string) string { return "-----" + kind + " RSA PRIVATE " + "KEY-----" }
	return []plant{
		{"openai project key", "", dash("sk", "proj", random(1, 74, alnum)+"T3Blbk"+"FJ"+random(2, 74, alnum)), "openai-api-key"},
		{"openai style key", "", dash("sk", random(3, 40, alnum)), "model-key"},
		{"anthropic key", "", dash("sk", "ant", "api03", random(4, 93, alnum)+"AA"), "anthropic-api-key"},
		{"google key", "", "AI" + "za" + random(5, 35, alnum), "gcp-api-key"},
		{"aws key", "", "AK" + "IA" + random(6, 16, large+"234567"), "aws-access-token"},
		{"github token", "", "gh" + "p_" + random(7, 36, alnum), "github-pat"},
		{"gitlab token", "", "gl" + "pat-" + random(8, 20, alnum), "gitlab-pat"},
		{"slack token", "", "xo" + "xb-" + random(9, 12, "123456789") + "-" + random(10, 12, "123456789") + "-" + random(11, 24, alnum), "slack-bot-token"},
		{"stripe key", "", "sk" + "_live_" + random(12, 32, alnum), "stripe-access-token"},
		{"hugging face token", "", "h" + "f_" + random(13, 34, small+large), "huggingface-access-token"},
		{"npm token", "", "np" + "m_" + random(14, 36, alnum), "npm-access-token"},
		{"groq key", "", "gs" + "k_" + random(15, 52, alnum), "model-key"},
		{"bearer token", "Bearer ", random(16, 40, alnum), "bearer-token"},
		{"authorization", "Authorization: Basic ", random(25, 26, alnum) + "==", "authorization"},
		{"json web token", "", "ey" + "J" + random(17, 33, alnum) + ".ey" + "J" + random(18, 60, alnum) + "." + random(19, 43, alnum+"-_"), "jwt"},
		{"private key", "", pem("BEGIN") + "\n" + random(20, 64, alnum) + "\n" + random(21, 64, alnum) + "\n" + random(22, 20, alnum) + "==\n" + pem("END"), "private-key"},
		{"api key", "api_key=", random(23, 32, alnum), "generic-api-key"},
		{"email", "", "jane" + "." + "doe+x" + "@" + "mail.example" + ".org", "email"},
		{"international phone", "", "+49 30 " + "1234 5678", "phone"},
		{"american phone", "", "(415) 555" + "-2671", "phone"},
		{"card", "", dash("4111", "1111", "1111", "1111"), "payment-card"},
		{"plain card", "", "5500" + "0000" + "0000" + "0004", "payment-card"},
		{"url password", "https://", "bob:" + random(24, 12, alnum), "url-password"},
	}
}

// after is what stands behind a plant.
func (p plant) after() string {
	if p.kind == "url password" {
		return "@db.internal/x"
	}
	return ", and so on"
}

func (p plant) text() string { return "It is " + p.before + p.value + p.after() }

// escaped escapes as JSON does, and all that is not a letter as well if all.
func escaped(s string, all bool) string {
	if all {
		var b strings.Builder
		for _, c := range s {
			if strings.ContainsRune(alnum, c) {
				b.WriteRune(c)
			} else {
				fmt.Fprintf(&b, `\u%04x`, c)
			}
		}
		return b.String()
	}
	q, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(q[1 : len(q)-1])
}

func redactor(t testing.TB, o Options) *Redactor {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// gone fails if a plant is still in what came out, in any spelling, or if what
// came out is not redacted.
func gone(t *testing.T, r *Redactor, p plant, in, out string) {
	t.Helper()
	for _, s := range []string{p.value, escaped(p.value, false), escaped(escaped(p.value, false), false), escaped(p.value, true), url.QueryEscape(p.value), url.PathEscape(p.value)} {
		if strings.Contains(out, s) {
			t.Errorf("%s: it is still there: %q in %q", p.kind, s, out)
		}
	}
	if rule := r.Leftover(out); rule != "" {
		t.Errorf("%s: Leftover finds %s in %q", p.kind, rule, out)
	}
	if again := r.Text(out); again != out {
		t.Errorf("%s: the second time it becomes\n%q, not\n%q", p.kind, again, out)
	}
	if isJSON(in) && !json.Valid([]byte(out)) {
		t.Errorf("%s: no JSON any more: %q", p.kind, out)
	}
}

func TestPlants(t *testing.T) {
	for _, p := range plants() {
		text := p.text()
		args := `{"n":1.50,"body":"` + escaped(text, false) + `"}`
		loud := `{"n":1.50,"body":"` + escaped(text, true) + `"}`
		contexts := map[string]string{
			"text":         text,
			"line":         "first\n" + text + "\nlast",
			"end":          p.before + p.value + strings.TrimSuffix(p.after(), ", and so on"),
			"brackets":     "(" + p.before + p.value + strings.TrimSuffix(p.after(), ", and so on") + ")",
			"header":       "X-Note: " + text,
			"request":      `{"model":"m","messages":[{"role":"user","content":"` + escaped(text, false) + `"}],"max_tokens":100000000000000000001}`,
			"response":     `{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"` + escaped(text, false) + `"}}]}`,
			"tool result":  `{"messages":[{"role":"tool","tool_call_id":"call_1","content":"` + escaped(args, false) + `"}]}`,
			"arguments":    `{"tool_calls":[{"function":{"name":"f","arguments":"` + escaped(args, false) + `"}}]}`,
			"all escaped":  `{"content":"` + escaped(text, true) + `"}`,
			"escaped args": `{"arguments":"` + escaped(loud, false) + `"}`,
			"twice":        `{"a":"` + escaped(`{"b":"`+escaped(args, false)+`"}`, false) + `"}`,
			"cut JSON":     `{"arguments":"` + escaped(loud, false),
			"in a key":     `{"` + escaped(text, false) + `":1}`,
		}
		for name, in := range contexts {
			t.Run(p.kind+"/"+name, func(t *testing.T) {
				r := redactor(t, Options{})
				out := r.Text(in)
				gone(t, r, p, in, out)
				if n := r.Count()[p.rule]; n != 1 {
					t.Errorf("the rule %s has found %d values, not 1: %v; %q", p.rule, n, r.Count(), out)
				}
			})
		}
	}
}

func TestPlantsInURLs(t *testing.T) {
	for _, p := range plants() {
		if p.kind == "url password" || p.kind == "private key" {
			continue // the one has a test of its own, and no query is of lines
		}
		for _, in := range []string{
			"https://api.internal/v1?q=" + url.QueryEscape(p.before+p.value) + "&n=1",
			"https://api.internal/v1?access_token=" + url.QueryEscape(p.value),
			"/v1?n=1&key=" + url.QueryEscape(p.value) + "#x",
		} {
			r := redactor(t, Options{})
			out := r.URL(strings.ReplaceAll(in, "+", "%20"))
			gone(t, r, p, in, out)
			if r.URL(out) != out {
				t.Errorf("%s: %q becomes %q", p.kind, out, r.URL(out))
			}
		}
	}
}

func TestHealthy(t *testing.T) {
	random := func(n int, of string) string { return random(uint64(n), n, of) }
	texts := []string{
		"550e8400-e29b-41d4-a716-446655440000",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b, parent 89e6c98d92887913cadf06b2adb97f26cde4849b",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"2026-11-28", "2026-11-28T06:45:41Z", "2026-11-28T06:45:41.123456+01:00", "28.11.2026 10:30", "on 11/28/2026 at 10:30:00", "01-02-2024 10:30", "20261128-064541",
		"1714557600", "1714557600123", "1714557600123456", "1714557600.123",
		"It costs $1,299.99, or 1.299,99 €, or 1 299 000 yen; 10.000.000 in all, 4111111111111112 grains",
		"order ORD-2024-000123, 112-7654321-1234567, #10012345, invoice 2024-11-0042, SKU 4006381333931, ISBN 978-3-16-148410-0",
		"data:image/png;base64," + random(5000, alnum+"+/") + "==",
		"/usr/lib/python3.12/site-packages/foo_bar/__init__.py:120:15", `C:\Users\nick\table\readme.txt`, "../testdata/icon@2x.png",
		"func (r *Reader) Token(key string) (tok Token, err error) {\n\tif tok, ok := r.cache[key]; ok {\n\t\treturn tok, nil\n\t}\n\tr.token = parser.Next(r.access)\n\treturn fmt.Errorf(\"key %q: %w\", key, err)\n}",
		"require golang.org/x/net@v0.60.0 and github.com/foo/bar/v2@v2.0.0-rc.1; npm i @types/node@20.1.0",
		"git clone git@github.com:org/repo.git", "@app.route('/x')", "@@ -10,7 +10,8 @@ func main() {", "x = a[1] + 12345678 - b * 3.14159265358979",
		"call_" + random(24, alnum), "toolu_01" + random(22, alnum), "chatcmpl-" + random(29, alnum), "resp_" + random(48, "abcdef"+digits), "msg_01" + random(22, alnum), "fc_" + random(48, "abcdef"+digits), "rs_" + random(50, "abcdef"+digits), "fp_" + random(10, "abcdef"+digits), "gen-" + random(10, digits) + "-" + random(20, alnum), "req_" + random(24, alnum),
		"192.168.100.200:8080", "10.0.0.1", "2001:db8::8a2e:370:7334", "v1.2.3-rc.1", "52.5200, 13.4050", "+12.5%", "-33.8688, 151.2093",
		"[email-1] is a placeholder, and [card-12] and [authorization-3]: password=[generic-key-7], Bearer [bearer-1], https://[password-1]/x?key=[token-4]",
		"Bearer authentication, HTTP Bearer oauth2, the bearer of 3 letters", "the key is under the mat, the token ring, an API key: required; password: string",
		"max_tokens=4096 total_tokens=123456789012 temperature=0.7",
		"| 12 | 200 | 4096 |\n| 13 | 404 | 8192 |\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
		"https://example.com/a/b?page=2&sort=asc&q=hello%20world", "see RFC 9110, 5.6.7", "seat 12A, flight LH 1234 at 0930, gate 4",
		"Content-Type: application/json", "Retry-After-Ms: 12000",
	}
	for _, text := range texts {
		doc := `{"a":"` + escaped(text, false) + `","id":"call_` + random(24, alnum) + `","n":[4111111111111111, 1.50e3]}`
		for _, in := range []string{text, "So: " + text + ".", doc, "data: " + doc + "\n\ndata: [DONE]\n\n"} {
			r := redactor(t, Options{})
			if out := r.Text(in); out != in {
				t.Errorf("%.300q\nbecomes %.300q", in, out)
			}
			if rule := r.Leftover(in); rule != "" {
				t.Errorf("%.100q: Leftover finds %s", in, rule)
			}
		}
	}
}
