package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const secret = "sk-test-0123456789abcdef"

// However a value that holds settings is shown, the key is not in it.
func TestKeyIsNeverShown(t *testing.T) {
	type within struct {
		settings Settings // unexported: package fmt calls no method of it
		Key      Key
	}
	s := Settings{Key: NewKey(secret), Model: "m"}
	values := map[string]any{
		"settings": s, "pointer": &s, "key": s.Key, "pointer to key": &s.Key, "within": within{s, s.Key},
		"map": map[string]Settings{"a": s}, "list": []Key{s.Key}, "any": []any{s},
	}
	for name, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			shown := fmt.Sprintf(verb, v)
			if strings.Contains(shown, secret) || strings.Contains(strings.ToLower(shown), fmt.Sprintf("%x", secret)) {
				t.Errorf("%s with %s shows the key: %s", name, verb, shown)
			}
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("it is", "value", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("it is", "value", v)
		asJSON, err := json.Marshal(v)
		asYAML, err2 := yaml.Marshal(v)
		if err := errors.Join(err, err2); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range []string{log.String(), string(asJSON), string(asYAML)} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows the key: %s", name, text)
			}
		}
	}
	if s.Key.Reveal() != secret || NewKey("").Reveal() != "" || (Key{}) != NewKey("") {
		t.Error("Reveal does not give what the key was made of")
	}
}

// A key that is a common word is not a secret, and stays.
func TestHide(t *testing.T) {
	for _, test := range []struct{ key, text, want string }{
		{secret, "Incorrect API key provided: " + secret + ", and " + secret, "Incorrect API key provided: [key], and [key]"},
		{secret, secret[:10], secret[:10]},
		{"none", "there is none", "there is none"},
		{"12345678", "12345678", "[key]"},
		{"", "all", "all"},
	} {
		if got := NewKey(test.key).Hide(test.text); got != test.want {
			t.Errorf("Hide(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

// Three variables are read, and OPENAI_CUSTOM_HEADERS is none of them.
func TestFromEnv(t *testing.T) {
	var read []string
	env := map[string]string{"OPENAI_BASE_URL": " http://h/v1\n", "OPENAI_API_KEY": secret + "\n", "OPENAI_MODEL": ""}
	s := FromEnv(func(name string) string { read = append(read, name); return env[name] })
	if s.BaseURL != "http://h/v1" || s.Key.Reveal() != secret || s.Model != "" {
		t.Errorf("got %+v", s)
	}
	slices.Sort(read)
	if want := []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"}; !slices.Equal(read, want) {
		t.Errorf("read %q, want %q", read, want)
	}
	if s := FromEnv(func(string) string { return "" }).WithDefaults(); s.BaseURL != "https://api.openai.com/v1" {
		t.Errorf("an empty variable is the base URL %q", s.BaseURL)
	}
}

// What a recording keeps of the settings.
func TestSettingsAsJSON(t *testing.T) {
	zero := 0.0
	for _, test := range []struct {
		s    Settings
		want string
	}{
		{Settings{Model: "m", Key: NewKey(secret)}, `{"base_url":"https://api.openai.com/v1","model":"m","api":"chat","stream":false,"max_tokens":8192}`},
		{Settings{BaseURL: "http://h/v1", Model: "m", API: APIResponses, Stream: true, MaxTokens: 5, Temperature: &zero},
			`{"base_url":"http://h/v1","model":"m","api":"responses","stream":true,"max_tokens":5,"temperature":0}`},
	} {
		if got, err := json.Marshal(test.s.WithDefaults()); err != nil || string(got) != test.want {
			t.Errorf("%s, %v\nwant %s", got, err, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	with := func(change func(*Settings)) Settings {
		s := Settings{BaseURL: "http://127.0.0.1:8080/v1", Model: "m"}
		change(&s)
		return s
	}
	number := func(f float64) func(*Settings) { return func(s *Settings) { s.Temperature = &f } }
	url := func(u string) func(*Settings) { return func(s *Settings) { s.BaseURL = u } }
	key := func(k string) func(*Settings) { return func(s *Settings) { s.Key = NewKey(k) } }
	for _, test := range []struct {
		name, says string // "" = nothing is wrong
		change     func(*Settings)
	}{
		{"a local server needs no key", "", func(*Settings) {}},
		{"OpenAI's does", "there is no key", url("")},
		{"also by its name", "there is no key", url("https://api.openai.com/v1/")},
		{"OpenAI's with a key", "", func(s *Settings) { url("")(s); key(secret)(s) }},
		{"no scheme", "the base URL is not a valid URL", url("127.0.0.1:8080")},
		{"another scheme", "does not begin with http", url("file:///etc/passwd")},
		{"no host", "has no host", url("http:///v1")},
		{"a port alone", "has no host", url("http://:8080/v1")},
		{"a password", "has a user name or a password", url("http://u:" + secret + "@h/v1")},
		{"a query", "something after a ?", url("http://h/v1?key=" + secret)},
		{"a fragment", "something after a ?", url("http://h/v1#a")},
		{"the whole path", "ends with /chat/completions", url("http://h/v1/chat/completions")},
		{"a line break", "is not a valid URL", url("http://h/v1\n")},
		{"a key with a line break", "a character that is not printable", key(secret + "\nX: y")},
		{"a key with an umlaut", "a character that is not printable", key("schlüssel")},
		{"a long key", "longer than 8192 bytes", key(strings.Repeat("k", 8193))},
		{"no model", "there is no model", func(s *Settings) { s.Model = "" }},
		{"a model with an escape", "a control character", func(s *Settings) { s.Model = "m\x1b[31m" }},
		{"another API", `there is no API "messages"`, func(s *Settings) { s.API = "messages" }},
		{"responses", "", func(s *Settings) { s.API = APIResponses }},
		{"few tokens", "max tokens must be", func(s *Settings) { s.MaxTokens = -1 }},
		{"many tokens", "max tokens must be", func(s *Settings) { s.MaxTokens = 10_000_001 }},
		{"cold", "the temperature must be", number(-0.1)},
		{"hot", "the temperature must be", number(2.1)},
		{"not a number", "the temperature must be", number(math.NaN())},
		{"temperature 0", "", number(0)},
		{"temperature 2", "", number(2)},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := with(test.change).Validate()
			var p *Problem
			switch {
			case test.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.says != "" && !errors.As(err, &p):
				t.Errorf("%v is not a Problem", err)
			case test.says != "" && (!strings.Contains(p.Text, test.says) || strings.Contains(p.Text+p.Hint, secret)):
				t.Errorf("it says %q, want %q", p.Text, test.says)
			}
		})
	}
}
