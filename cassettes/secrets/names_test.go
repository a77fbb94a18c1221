package secrets

import (
	"strings"
	"testing"
)

// What is assigned to a name that says secret, in the languages that models,
// tools and people write. "" = nothing is secret.
func TestAssigned(t *testing.T) {
	for in, want := range map[string]string{
		// Quotes say where a value ends, whatever it looks like.
		`password = "correct horse battery"`: `password = "[secret-1]"`,
		`{'token': 'abc', 'n': 1}`:           `{'token': '[secret-1]', 'n': 1}`,
		`{"password":"hun`:                   `{"password":"[secret-1]`,
		`self.api_key = 'x1'`:                `self.api_key = '[secret-1]'`,
		`headers["Cookie"] = "a=b"`:          `headers["Cookie"] = "[secret-1]"`,
		`:secret => "ab c"`:                  `:secret => "[secret-1]"`,
		`password := "p4"`:                   `password := "[secret-1]"`,
		`accessToken: "x y"`:                 `accessToken: "[secret-1]"`,
		`"password": ""`:                     "",
		`"password": "string"`:               "",
		`"password": "<your password>"`:      "",
		`"pin": 4821`:                        "", // a number of JSON
		// Lines of YAML, headers and files of variables.
		"user: ana\n  password: hunter2\n":                 "user: ana\n  password: [secret-1]\n",
		"- token: abcdef\n":                                "- token: [secret-1]\n",
		"password: hunter2 # of the test":                  "password: [secret-1] # of the test",
		"pin: 4821":                                        "pin: [secret-1]",
		"pin: GPIO13":                                      "",
		"secret: required":                                 "",
		"password = hunter2\n":                             "password = [secret-1]\n",
		"password = getpass()":                             "",
		"export DB_PASSWORD=x&3-y!\nN=1":                   "export DB_PASSWORD=[secret-1]\nN=1",
		"GITHUB_TOKEN=$(gh auth token)":                    "",
		"NEXT_PAGE_TOKEN=abc123":                           "",
		"Cookie: theme=dark; sid=abc":                      "Cookie: [secret-1]",
		"Set-Cookie: sid=abc; Path=/":                      "Set-Cookie: [secret-1]; Path=/",
		"Cookie: chocolate chip":                           "",
		"Authorization: abcDEF123456":                      "Authorization: [secret-1]",
		"Authorization: ApiKey abc123":                     "Authorization: ApiKey [secret-1]",
		`Authorization: Digest username="a", response="b"`: "Authorization: Digest [secret-1]",
		"Authorization: required":                          "",
		"http -H 'Authorization: abc123def' https://a.b/c": "http -H 'Authorization: [secret-1]' https://a.b/c",
		// Words in a line.
		"login --password=hunter2 now":                 "login --password=[secret-1] now",
		"user=ana&password=hunter&n=1":                 "user=ana&password=[secret-1]&n=1",
		"/login?otp=993811#x":                          "/login?otp=[secret-1]#x",
		"so password=hunter2, and go on":               "so password=[secret-1], and go on",
		"connect(user=u, password=self.word)":          "",
		"the password: hunter2.":                       "the password: [secret-1].",
		"the password: a word":                         "",
		"reset your password: https://shop.test/reset": "",
		"logprob: -0.1\ntoken: The":                    "",
		"token == tok":                                 "",
		"${TOKEN:-none}":                               "",
		"token://host":                                 "",
		"-p password":                                  "",
		// Names that are others.
		`page_token: "abcDEF123456abcDEF123456"`: "",
		"maxTokens=4096":                         "",
		"mypassword=hunter2":                     "",
		"token-count=12345":                      "",
	} {
		if want == "" {
			want = in
		}
		r := redactor(t, Options{})
		if got := r.Text(in); got != want || r.Text(got) != got {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}

// Of JSON every string value of such a name is secret, also in an array, and no
// other value.
func TestNamedInJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"Password":"a b","passwd":"string","API-Key":"x","refreshToken":"<y>"}`: `{"Password":"[secret-1]","passwd":"[secret-2]","API-Key":"[secret-3]","refreshToken":"[secret-4]"}`,
		`{"otp":["1","2"],"pin":"1","n":"1"}`:                                     `{"otp":["[secret-1]","[secret-2]"],"pin":"[secret-1]","n":"1"}`,
		`{"token":"","secret":12,"pin":null,"otp":true}`:                          "",
		`{"cookie":{"value":"x"}}`:                                                "",
		`{"authorization":"Bearer ab"}`:                                           `{"authorization":"Bearer [secret-1]"}`,
		`{"password":"[secret-4]","secret":"x"}`:                                  `{"password":"[secret-4]","secret":"[secret-5]"}`,
		`[{"token":" the","logprob":-0.1,"bytes":[32,116,104,101]}]`:              "",
		`{"page_token":"x","tokenizer":"x","max_tokens":"x"}`:                     "",
		`{"password":"` + jane + ` 1"}`:                                           `{"password":"[secret-1]"}`,
	} {
		if want == "" {
			want = in
		}
		r := redactor(t, Options{})
		if got := r.Text(in); got != want || r.Text(got) != got {
			t.Errorf("%s becomes %s, not %s", in, got, want)
		}
	}
}

// Names that never make a secret of a value, however random it is, in JSON, in
// YAML, in a variable and in a form.
func TestHarmlessNames(t *testing.T) {
	for i, name := range []string{"page_token", "next_token", "continuation_token", "max_tokens", "tokenizer", "secretary", "idempotency_key", "checksum", "nextPageToken", "Idempotency-Key"} {
		value := random(uint64(100+i), 32, alnum)
		for _, in := range []string{`{"` + name + `":"` + value + `"}`, name + ": " + value + "\n", strings.ToUpper(name) + "=" + value, "n=1&" + name + "=" + value, name + ` = "` + value + `"`} {
			if got := redactor(t, Options{}).Text(in); got != in {
				t.Errorf("%q becomes %q", in, got)
			}
		}
	}
	// By its form a value is secret under every name.
	key := "gh" + "p_" + random(110, 36, alnum)
	if got := redactor(t, Options{}).Text(`{"page_token":"` + key + `"}`); got != `{"page_token":"[github-pat-1]"}` {
		t.Errorf("a key as a page token becomes %s", got)
	}
}

// What the author's own text holds word for word is secret by its form only.
func TestOwn(t *testing.T) {
	own := "tools:\n  login: '{\"password\": \"open sesame\", \"pin\": \"4821\"}'\n  text: \"a \\\"quoted\\\" word, mail " + jane + "\"\n"
	r := redactor(t, Options{Own: []string{own}})
	for _, c := range []struct{ in, want string }{
		{`{"password":"open sesame","pin":"4821"}`, `{"password":"open sesame","pin":"4821"}`},
		{"password = \"open sesame\"", "password = \"open sesame\""},
		{`{"password":"pen sesame","pin":"482"}`, `{"password":"[secret-1]","pin":"[secret-2]"}`}, // parts of words
		{`{"secret":"a \"quoted\" word"}`, `{"secret":"a \"quoted\" word"}`},
		{`{"token":"` + jane + `"}`, `{"token":"[email-1]"}`},
	} {
		if got := r.Text(c.in); got != c.want {
			t.Errorf("%s becomes %s, not %s", c.in, got, c.want)
		}
	}
}

// Equal numbers get equal placeholders, and calls that differ still do.
func TestNamedNumbers(t *testing.T) {
	r := redactor(t, Options{})
	for _, c := range []struct{ in, want string }{
		{`{"user":"ana","password":"one"}`, `{"user":"ana","password":"[secret-1]"}`},
		{`{"user":"ana","password":"two"}`, `{"user":"ana","password":"[secret-2]"}`},
		{`{"user":"ana","password":"one"}`, `{"user":"ana","password":"[secret-1]"}`},
	} {
		if got := r.Text(c.in); got != c.want {
			t.Errorf("%s becomes %s, not %s", c.in, got, c.want)
		}
	}
}
