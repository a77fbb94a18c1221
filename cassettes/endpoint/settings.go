// Package endpoint says which live model is asked, how, and what it costs. It
// knows no client library: who needs a model is given a [Connect].
package endpoint

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// What the zero values of [Settings] stand for.
const (
	OpenAI           = "https://api.openai.com/v1" // the base URL
	DefaultMaxTokens = 8192
)

// An API is what an endpoint speaks. The zero value is that of APIChat.
type API string

// The APIs.
const (
	APIChat      API = "chat"      // Chat Completions
	APIResponses API = "responses" // Responses
)

// APIs lists the APIs.
func APIs() []API { return []API{APIChat, APIResponses} }

// Settings say which model is asked and how. As JSON they hold what a recording
// keeps of them: all but the key and the prices.
type Settings struct {
	BaseURL     string   `json:"base_url"`              // up to /v1, "" = OpenAI's
	Key         Key      `json:"-"`                     // the zero value sends no Authorization
	Model       string   `json:"model"`                 // as the endpoint calls it
	API         API      `json:"api"`                   // "" = chat
	Stream      bool     `json:"stream"`                // the reply comes in pieces
	MaxTokens   int      `json:"max_tokens"`            // of one reply, 0 = 8192
	Temperature *float64 `json:"temperature,omitempty"` // nil: it is not sent, and the endpoint has its own
	Prices      Prices   `json:"-"`                     // nil = [DefaultPrices]
}

// A Connect makes a model of settings. It reads no environment and does not try
// requests again. The transport carries the requests; nil is the network. The
// error is that of [Settings.Validate].
//
// A transport's own errors can be found in those of the model ([errors.As]).
type Connect func(s Settings, transport http.RoundTripper) (loop.Model, error)

// FromEnv reads OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL and nothing
// else. A variable that is empty counts as one that is not set.
func FromEnv(getenv func(name string) string) Settings {
	get := func(name string) string { return strings.TrimSpace(getenv(name)) }
	return Settings{
		BaseURL: get("OPENAI_BASE_URL"),
		Key:     NewKey(get("OPENAI_API_KEY")),
		Model:   get("OPENAI_MODEL"),
	}
}

// WithDefaults gives the settings with what their zero values stand for.
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

// A Problem says what is wrong with settings. It never shows the key.
type Problem struct {
	Text string
	Hint string // how to mend it, "" = no idea
}

func (p *Problem) Error() string { return p.Text }

// What is taken at most.
const (
	maxURL    = 2048
	maxName   = 256
	maxKey    = 8192
	maxTokens = 10_000_000
)

// Validate checks the settings. The error is a [*Problem].
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
		return &Problem{"the base URL is no URL", hint}
	case u.User != nil:
		return &Problem{"the base URL holds a name or a password", "give what the endpoint asks for as the key"}
	case u.Scheme != "http" && u.Scheme != "https":
		return &Problem{fmt.Sprintf("the base URL %q does not begin with http:// or https://", s.BaseURL), hint}
	case u.Hostname() == "":
		return &Problem{fmt.Sprintf("the base URL %q names no host", s.BaseURL), hint}
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return &Problem{"the base URL has something after a ? or a #", hint}
	}
	for _, end := range []string{"/chat/completions", "/responses", "/models"} {
		if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), end) {
			return &Problem{fmt.Sprintf("the base URL ends with %s", end), "leave that out: it is added"}
		}
	}
	return nil
}

func (s Settings) checkKey() *Problem {
	key := s.Key.Reveal()
	if key == "" && strings.TrimSuffix(s.BaseURL, "/") == OpenAI {
		return &Problem{"there is no key", "set OPENAI_API_KEY, or name another base URL"}
	}
	if len(key) > maxKey {
		return &Problem{"the key is too long to be one", ""}
	}
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return &Problem{"the key holds a character that no key has", "copy it again: it has no white space and no line breaks"}
		}
	}
	return nil
}

func (s Settings) checkModel() *Problem {
	if s.Model == "" {
		return &Problem{"there is no model", "name one, such as gpt-4.1-mini, or set OPENAI_MODEL"}
	}
	if len(s.Model) > maxName || strings.ContainsFunc(s.Model, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }) {
		return &Problem{"the name of the model is too long, or holds a character that no name has", ""}
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
