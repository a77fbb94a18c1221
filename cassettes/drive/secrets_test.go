package drive

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/cassettes/tape"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

var _ Redactor = (*secrets.Redactor)(nil)

// planted returns secrets of twenty kinds with the words that reveal them. They are
// made when the test runs, so that none is in this repository.
func planted() map[string][2]string {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		const of = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		b := make([]byte, n)
		for i := range b {
			b[i] = of[rng.IntN(len(of))]
		}
		return string(b)
	}
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('1' + rng.IntN(9))
		}
		return string(b)
	}
	upper := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('A' + rng.IntN(26))
		}
		return string(b)
	}
	pem := "-----BEGIN RSA PRIVATE " + "KEY-----\n" + letters(64) + "\n" + letters(64) + "==\n-----END RSA PRIVATE " + "KEY-----"
	return map[string][2]string{
		"openai project key": {"", "sk-" + "proj-" + letters(74) + "T3Blbk" + "FJ" + letters(74)},
		"openai key":         {"", "sk-" + letters(40)},
		"anthropic key":      {"", "sk-" + "ant-api03-" + letters(93) + "AA"},
		"google key":         {"", "AI" + "za" + letters(35)},
		"aws key":            {"", "AK" + "IA" + upper(16)},
		"github token":       {"", "gh" + "p_" + letters(36)},
		"gitlab token":       {"", "gl" + "pat-" + letters(20)},
		"slack token":        {"", "xo" + "xb-" + digits(12) + "-" + digits(12) + "-" + letters(24)},
		"stripe key":         {"", "sk" + "_live_" + letters(32)},
		"npm token":          {"", "np" + "m_" + letters(36)},
		"groq key":           {"", "gs" + "k_" + letters(52)},
		"bearer token":       {"Bearer ", letters(40)},
		"basic credentials":  {"Authorization: Basic ", letters(26) + "=="},
		"json web token":     {"", "ey" + "J" + letters(33) + ".ey" + "J" + letters(60) + "." + letters(43)},
		"private key":        {"", pem},
		"api key":            {"api_key=", letters(32)},
		"e-mail address":     {"", "jane" + ".doe@corp-mail" + ".com"},
		"phone number":       {"", "+49 30 " + "1234 5678"},
		"card number":        {"", "4111-1111-" + "1111-1111"},
		"password in a URL":  {"https://bob:", letters(14) + "@db.internal/x"},
	}
}

// A secret reaches no file, wherever it comes from: the user, the streamed pieces
// of a reply, cut anywhere, the arguments of a call, a tool's result, a header, an
// error's body and the query of the URL. And what was recorded without it is
// driven again like any other.
func TestSecretsReachNoFile(t *testing.T) {
	kinds := planted()
	if len(kinds) != 20 {
		t.Fatalf("%d kinds", len(kinds))
	}
	for kind, secret := range kinds {
		t.Run(kind, func(t *testing.T) {
			text := "It is " + secret[0] + secret[1] + " so."
			at := len("It is ") + len(secret[0]) + len(secret[1])/2
			network := &server{answers: []func(http.ResponseWriter, *http.Request){
				func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-Token", url.QueryEscape(secret[1]))
					w.Header().Set("Set-Cookie", "session="+url.QueryEscape(secret[1]))
					w.WriteHeader(503)
					io.WriteString(w, text)
				},
				streams(line{Text: text[:at]}, line{Text: text[at : at+1]}, line{Text: text[at+1:]}, line{Call: "look"}, line{End: true}),
				streams(line{Text: "Done: " + text}, line{End: true}),
			}}
			scenario, err := scenarios.Parse("mine/look.yaml", strings.NewReplacer("Look for hunter2.", strconv.Quote(text), "a wall", strconv.Quote(text)).Replace(looking))
			if err != nil {
				t.Fatal(err)
			}
			s := newSession(t)
			s.Scenario = scenario
			s.Redactor = func() Redactor {
				r, err := secrets.New(secrets.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			s.Connect = func(set endpoint.Settings, transport http.RoundTripper) (loop.Model, error) {
				return connect(set, roundTrip(func(r *http.Request) (*http.Response, error) {
					r.URL.RawQuery = "api_key=" + url.QueryEscape(secret[1])
					r.Header.Set("Authorization", "Bearer "+url.QueryEscape(secret[1]))
					return transport.RoundTrip(r)
				}))
			}
			path := filepath.Join(t.TempDir(), "c.yaml")
			live, err := s.Record(context.Background(), path, tape.Rewrite, network, "test", now)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			transport, err := tape.Begin(path, tape.None, nil, s.Redactor())
			if err != nil {
				t.Fatal(err)
			}
			head, err := ReadHead(transport.Head())
			if err != nil {
				t.Fatal(err)
			}
			again, err := head.Of(func(err error) { t.Error(err) })
			if err != nil {
				t.Fatal(err)
			}
			again.Connect, again.Redactor = s.Connect, s.Redactor
			played, err := again.Play(context.Background(), transport)
			if err != nil || played.Leftovers != nil {
				t.Fatal(err, played.Leftovers)
			}
			if len(played.Trace) != len(live.Trace) || len(live.Redacted) == 0 {
				t.Errorf("%d steps again, %d before; taken out: %v", len(played.Trace), len(live.Trace), live.Redacted)
			}
			for _, form := range []string{secret[1], url.QueryEscape(secret[1]), strings.Trim(strconv.Quote(secret[1]), `"`)} {
				for where, written := range map[string]string{"the cassette": string(data), "the trace": played.Trace.String()} {
					if strings.Contains(written, form) {
						t.Errorf("%s holds %q", where, form)
					}
				}
			}
			if p := secret[1]; len(p) > 20 && strings.Contains(string(data), p[:len(p)/2]) {
				t.Errorf("the cassette holds half of it: %s", fmt.Sprint(p[:len(p)/2]))
			}
		})
	}
}
