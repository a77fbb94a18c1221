package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/drive"
	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/spf13/cobra"
)

// modelFlags choose a live model and say how to ask it.
type modelFlags struct {
	baseURL, model, prices, keyName, envFile string
	api                                      endpoint.API
	noStream                                 bool
	maxTokens                                count
	temperature                              temperature
}

// The environment variables that are used where no flag is given.
const (
	baseURLVariable = "OPENAI_BASE_URL"
	keyVariable     = "OPENAI_API_KEY"
	modelVariable   = "OPENAI_MODEL"

	defaultEnvFile = ".env"
)

func (f *modelFlags) add(cmd *cobra.Command) {
	f.maxTokens, f.api = endpoint.DefaultMaxTokens, endpoint.APIChat
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "ask this `MODEL` (default: "+modelVariable+")")
	flags.StringVar(&f.baseURL, "base-url", "", "ask the endpoint at this `URL`, up to and with /v1 (default: "+baseURLVariable+", or else OpenAI)")
	addChoice(cmd, &f.api, "api", "the API of the endpoint: chat (Chat Completions) or responses", endpoint.APIs()...)
	flags.BoolVar(&f.noStream, "no-stream", false, "ask for whole replies instead of streams")
	flags.Var(&f.maxTokens, "max-tokens", "limit each reply to `N` tokens")
	flags.Var(&f.temperature, "temperature", "the temperature, from 0 to 2 (default: the endpoint's own; 0 for a planner)")
	flags.StringVar(&f.keyName, "key-variable", keyVariable, "read the key from this `VARIABLE` of the environment or of the --env-file")
	flags.StringVar(&f.envFile, "env-file", "", "read variables that are not set from `FILE` (default: "+defaultEnvFile+", if it exists)")
	flags.StringVar(&f.prices, "prices", "", "read the prices of models from this YAML `FILE`")
}

// settings returns the settings of the endpoint, from the flags, the environment
// and the file of variables. planner means that the model answers with JSON
// actions. recorded has the values for everything that is not set, if the cassette
// is only played; nil if it is not.
func (f *modelFlags) settings(cmd *cobra.Command, planner bool, recorded *endpoint.Settings) (endpoint.Settings, error) {
	file, err := f.readEnv()
	if err != nil {
		return endpoint.Settings{}, err
	}
	env := func(name string) string { return cmp.Or(os.Getenv(name), file[name]) }
	s := endpoint.Settings{BaseURL: cmp.Or(f.baseURL, env(baseURLVariable)), Model: cmp.Or(f.model, env(modelVariable)),
		Key: endpoint.NewKey(env(f.keyName)), API: f.api, Stream: !f.noStream, MaxTokens: int(f.maxTokens), Temperature: f.temperature.value}
	if recorded != nil {
		s = f.asRecorded(cmd, s, *recorded)
	} else if s.Temperature == nil && planner {
		s.Temperature = new(float64)
	}
	if f.prices != "" {
		if s.Prices, err = endpoint.ReadPrices(f.prices); err != nil {
			return s, badInput(err)
		}
	}
	if s.Model == "" {
		return s, misuse("set --model or the variable "+modelVariable, "no model is named")
	}
	s = s.WithDefaults()
	var problem *endpoint.Problem
	if err := s.Validate(); errors.As(err, &problem) {
		return s, misuse(problem.Hint, "%s", problem.Text)
	} else if err != nil {
		return s, misuse("", "%s", err)
	}
	return s, f.trusted(cmd, s, file)
}

// asRecorded returns the recorded settings, with those that are set on top.
func (f *modelFlags) asRecorded(cmd *cobra.Command, s, recorded endpoint.Settings) endpoint.Settings {
	s.BaseURL, s.Model = cmp.Or(s.BaseURL, recorded.BaseURL), cmp.Or(s.Model, recorded.Model)
	said := cmd.Flags().Changed
	if !said("api") {
		s.API = recorded.API
	}
	if !said("no-stream") {
		s.Stream = recorded.Stream
	}
	if !said("max-tokens") {
		s.MaxTokens = recorded.MaxTokens
	}
	if !said("temperature") {
		s.Temperature = recorded.Temperature
	}
	return s
}

// readEnv reads the file of variables. Only a file that --env-file names must
// exist.
func (f *modelFlags) readEnv() (map[string]string, error) {
	file, err := endpoint.ReadEnv(cmp.Or(f.envFile, defaultEnvFile))
	if errors.Is(err, fs.ErrNotExist) && f.envFile == "" {
		return nil, nil
	}
	return file, badInput(err)
}

// trusted refuses to send a key from the environment to an endpoint that only a
// file names, because the file may be part of somebody else's repository.
func (f *modelFlags) trusted(cmd *cobra.Command, s endpoint.Settings, file map[string]string) error {
	said := cmd.Flags().Lookup("base-url")
	byFile := os.Getenv(baseURLVariable) == "" && file[baseURLVariable] != "" && !said.Changed || fromProject(said)
	ownKey := os.Getenv(f.keyName) != ""
	if !byFile || !ownKey || s.BaseURL == endpoint.OpenAI {
		return nil
	}
	u, err := url.Parse(s.BaseURL)
	if err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()) {
		return nil
	}
	return misuse("to send it there, add --base-url "+s.BaseURL, "a file names the endpoint %s, which would get the key from the environment", s.BaseURL)
}

// A temperature is a flag whose value is a temperature. nil is the endpoint's own.
type temperature struct{ value *float64 }

func (t *temperature) Type() string { return "X" }

func (t *temperature) String() string {
	if t.value == nil {
		return ""
	}
	return strconv.FormatFloat(*t.value, 'g', -1, 64)
}

func (t *temperature) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= 2) {
		return errors.New("must be a number from 0 to 2")
	}
	t.value = &v
	return nil
}

// redactFlags say what counts as a secret in a recording.
type redactFlags struct {
	off, allow, patterns []string
}

func (f *redactFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.patterns, "redact", nil, "also redact what this `NAME=REGEXP` matches; can be repeated")
	cmd.Flags().StringArrayVar(&f.off, "redact-off", nil, "turn this `PATTERN` of the redactor off; can be repeated")
	cmd.Flags().StringArrayVar(&f.allow, "redact-allow", nil, "never redact this `WORD`, which is not a secret; can be repeated")
}

// redactor returns a function that makes redactors, and their options as the head
// of a cassette has them. The key of the endpoint is always a secret. own are texts
// of the scenario's author: a value in them is not a secret by its name alone.
func (f *redactFlags) redactor(key endpoint.Key, own []string) (func() drive.Redactor, json.RawMessage, error) {
	o := secrets.Options{Off: f.off, Allow: f.allow, Own: own}
	for _, p := range f.patterns {
		name, pattern, ok := strings.Cut(p, "=")
		if !ok || name == "" || pattern == "" {
			return nil, nil, misuse("such as --redact 'ticket=T-[0-9]{6}'", "--redact %s is not NAME=REGEXP", strconv.Quote(p))
		}
		if o.Patterns == nil {
			o.Patterns = map[string]string{}
		}
		o.Patterns[name] = pattern
	}
	if text := key.Reveal(); key.Hide(text) != text {
		o.Values = []string{text}
	}
	return redactorOf(o)
}

func redactorOf(o secrets.Options) (func() drive.Redactor, json.RawMessage, error) {
	if _, err := secrets.New(o); err != nil {
		return nil, nil, misuse("", "%s", err)
	}
	text, err := json.Marshal(o)
	return func() drive.Redactor {
		r, err := secrets.New(o)
		if err != nil {
			panic(err) // the same options were valid above
		}
		return r
	}, text, err
}
