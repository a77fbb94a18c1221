// Package endpoint has the settings of a live model: which one, how to ask it, and
// what it costs. It does not depend on a client library: callers that need a model
// get a [Connect]. Package cassettes/openai has one:
//
//	settings := endpoint.FromEnv(os.Getenv)
//	settings.Model = "gpt-4.1-mini"
//	model, err := openai.New(settings, nil)
package endpoint

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// The defaults of [Settings].
const (
	OpenAI           = "https://api.openai.com/v1" // the base URL
	DefaultMaxTokens = 8192
)

// An API is a protocol of an endpoint. The zero value means APIChat.
type API string

// The APIs.
const (
	APIChat      API = "chat"      // Chat Completions
	APIResponses API = "responses" // Responses
)

// APIs returns all APIs.
func APIs() []API { return []API{APIChat, APIResponses} }

// Settings say which model to ask and how. Their JSON has what a cassette keeps:
// everything except the key and the prices.
type Settings struct {
	BaseURL     string   `json:"base_url"`              // up to and with /v1, "" = OpenAI's
	Key         Key      `json:"-"`                     // the zero value sends no Authorization header
	Model       string   `json:"model"`                 // the endpoint's name for it
	API         API      `json:"api"`                   // "" = chat
	Stream      bool     `json:"stream"`                // asks for replies in pieces
	MaxTokens   int      `json:"max_tokens"`            // of one reply, 0 = 8192
	Temperature *float64 `json:"temperature,omitempty"` // nil = not sent, so the endpoint uses its own
	Prices      Prices   `json:"-"`                     // nil = [DefaultPrices]
}

// A Connect returns the model of some settings. It reads no environment variables,
// and the model never retries a request. transport carries the requests; nil means
// the network. The error is that of [Settings.Validate].
//
// Errors of the model wrap those of the transport: use [errors.As].
type Connect func(s Settings, transport http.RoundTripper) (loop.Model, error)

// FromEnv returns the settings in OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL.
// It reads no other variables, and an empty variable counts as not set.
func FromEnv(getenv func(name string) string) Settings {
	get := func(name string) string { return strings.TrimSpace(getenv(name)) }
	return Settings{
		BaseURL: get("OPENAI_BASE_URL"),
		Key:     NewKey(get("OPENAI_API_KEY")),
		Model:   get("OPENAI_MODEL"),
	}
}

// WithDefaults returns the settings with the defaults in place of zero values.
func (s Settings) WithDefaults() Settings {
	if s.BaseURL == "" {
		s.BaseURL = OpenAI
	}
	if s.API == "" {
		s.API = APIChat
	}
	if s.MaxTokens == 0 {
		s.MaxTokens = DefaultMaxTokens
	}
	if s.Prices == nil {
		s.Prices = DefaultPrices()
	}
	return s
}

// A Problem is the error for invalid settings. It never shows the key.
type Problem struct {
	Text string
	Hint string // what to do, may be empty
}

func (p *Problem) Error() string { return p.Text }

// The largest valid values: lengths in bytes, and tokens.
const (
	maxURL    = 2048
	maxName   = 256
	maxKey    = 8192
	maxTokens = 10_000_000
)

// Validate checks the settings, with their defaults. The error is a [*Problem].
func (s Settings) Validate() error {
	s = s.WithDefaults()
	for _, check := range []func() *Problem{s.checkURL, s.checkKey, s.checkModel, s.checkNumbers} {
		if p := check(); p != nil {
			return p
		}
	}
	return nil
}

func (s Settings) checkURL() *Problem {
	const hint = "write it as in https://api.openai.com/v1 or http://127.0.0.1:8080/v1"
	u, err := url.Parse(s.BaseURL)
	switch {
	case err != nil || len(s.BaseURL) > maxURL:
		return &Problem{"the base URL is not a valid URL", hint}
	case u.User != nil:
		return &Problem{"the base URL has a user name or a password", "use the key instead"}
	case u.Scheme != "http" && u.Scheme != "https":
		return &Problem{fmt.Sprintf("the base URL %q does not begin with http:// or https://", s.BaseURL), hint}
	case u.Hostname() == "":
		return &Problem{fmt.Sprintf("the base URL %q has no host", s.BaseURL), hint}
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return &Problem{"the base URL has something after a ? or a #", hint}
	}
	for _, end := range []string{"/chat/completions", "/responses", "/models"} {
		if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), end) {
			return &Problem{fmt.Sprintf("the base URL ends with %s", end), "leave that out: agentbench adds it"}
		}
	}
	return nil
}

func (s Settings) checkKey() *Problem {
	key := s.Key.Reveal()
	if key == "" && strings.TrimSuffix(s.BaseURL, "/") == OpenAI {
		return &Problem{"there is no key", "set OPENAI_API_KEY, or use another base URL"}
	}
	if len(key) > maxKey {
		return &Problem{fmt.Sprintf("the key is longer than %d bytes", maxKey), ""}
	}
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return &Problem{"the key has a character that is not printable ASCII", "copy it again, without spaces and line breaks"}
		}
	}
	return nil
}

func (s Settings) checkModel() *Problem {
	if s.Model == "" {
		return &Problem{"there is no model", "name one, such as gpt-4.1-mini, or set OPENAI_MODEL"}
	}
	if len(s.Model) > maxName || strings.ContainsFunc(s.Model, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }) {
		return &Problem{fmt.Sprintf("the name of the model is longer than %d bytes, or has a control character", maxName), ""}
	}
	return nil
}

func (s Settings) checkNumbers() *Problem {
	switch t := s.Temperature; {
	case s.API != APIChat && s.API != APIResponses:
		return &Problem{fmt.Sprintf("there is no API %q", s.API), "choose chat or responses"}
	case s.MaxTokens < 0 || s.MaxTokens > maxTokens:
		return &Problem{fmt.Sprintf("max tokens must be a number from 1 to %d, not %d", maxTokens, s.MaxTokens), ""}
	case t != nil && (math.IsNaN(*t) || *t < 0 || *t > 2):
		return &Problem{fmt.Sprintf("the temperature must be a number from 0 to 2, not %v", *t), ""}
	}
	return nil
}
