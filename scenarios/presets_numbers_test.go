package scenarios

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// presetNumbers is what each preset sets beside its detectors, as its source
// says it; all else is as in none.
const presetNumbers = `
recommended:        limits.turns=120 limits.calls=300 limits.asked=400 limits.calls_per_turn=32 limits.depth=8 limits.at_limit=final-answer time.run=1h time.model=10m time.first_token=5m time.chunk=3m time.tool=5m errors.max_consecutive=5 errors.kinds=[exception,text,unknown,invalid,denied] retry.max=3 retry.backoff=exponential retry.cap=30s model_retry.max=4 model_retry.cap=1m model_retry.same_deadline=2
hpd-agent:          time.run=5m time.tool=30s errors.max_consecutive=3 retry.max=3
hpd-development:    time.run=2m time.tool=10s errors.max_consecutive=2 retry.max=2
hpd-production:     time.run=10m time.tool=1m errors.max_consecutive=3 retry.max=3 retry.base=2s
hpd-long-running:   time.run=30m time.tool=5m errors.max_consecutive=5 retry.max=5 retry.base=3s
hpd-as-coded:       time.run=5m time.tool=30s errors.max_consecutive=3 retry.max=3 retry.timeouts=false retry.codes=[Timeout,RateLimited,RetryableServer,InvalidInput,NotFound,Unauthorized,Forbidden,ToolBug,OutputSchemaMismatch]
hpd-error-tracking: errors.max_consecutive=3 errors.trip=exceeded
microbot:           limits.turns=10 limits.calls=50 limits.at_limit=grace time.run=10m time.first_token=30s time.tool=30s parallel.max=1
microbot-plan:      limits.turns=10 limits.calls=50 limits.at_limit=grace time.run=2m time.tool=30s parallel.max=1
microbot-rollback:  limits.turns=1000 limits.calls=10000 limits.at_limit=grace time.run=1h time.tool=30s parallel.max=1
streaming-repl:     model_retry.max=5 model_retry.base=10s model_retry.statuses=[429] history.max_messages=50 history.keep_first=false history.max_result_chars=40000
framework-spec:     limits.turns=16 limits.at_limit=summary time.run=2m retry.max=2 retry.backoff=decorrelated-jitter contracts.max_payload_bytes=512000 policy.on_failure=table policy.fallbacks=true policy.ask_missing=true
meai:               limits.turns=40 limits.at_limit=final-answer errors.max_consecutive=3 errors.trip=exceeded errors.batch=any errors.kinds=[exception] errors.text_prefix= parallel.max=1
gemini-cli-2025:    model_retry.max=9 model_retry.base=5s model_retry.cap=30s
gemini-cli-2026:    model_retry.max=9 model_retry.base=5s model_retry.cap=30s
openhands-v1:       limits.turns=500 errors.text_prefix=
openhands-v0:       scope=session limits.turns=500 errors.text_prefix=
openclaw:
cline:              scope=session errors.max_consecutive=3 errors.kinds=[exception,unknown,invalid] errors.text_prefix=
roo-code:           scope=session errors.max_consecutive=3 errors.kinds=[unknown,invalid] errors.text_prefix=
goose:              limits.turns=1000 limits.near=500 errors.text_prefix=
crush:
opencode:
langgraph-python:   limits.steps=10007
langgraph-js:       limits.steps=25
langchain-limits:   limits.turns=5 limits.calls=10
openai-agents:      limits.turns=10
vercel-ai:          limits.turns=20 model_retry.max=2 model_retry.base=2s model_retry.max_wait=1m
pydantic-ai:        limits.turns=50 errors.text_prefix=
smolagents:         limits.turns=20 limits.at_limit=final-answer model_retry.max=2 model_retry.base=2m model_retry.cap=0s model_retry.max_wait=10m model_retry.statuses=[429]
crewai:             limits.turns=25 limits.at_limit=final-answer retry.max=2 retry.base=0s retry.backoff=constant retry.codes=[Timeout,RateLimited,RetryableServer,InvalidInput,NotFound,Unauthorized,Forbidden,ToolBug,OutputSchemaMismatch] parallel.max=1
zeroclaw:
qwen-code:          limits.calls=1000
qwen-code-heuristics: limits.calls=1000
hermes-agent:       limits.spawns=50
deer-flow:
autogen:            limits.turns=1
autogen-0.2:        limits.turns=100
google-adk:         limits.turns=500
claude-agent-sdk:
codex-cli:          time.first_token=5m time.chunk=5m model_retry.max=4 model_retry.base=200ms model_retry.statuses=[5xx]
none:
`

func TestPresetNumbers(t *testing.T) {
	off := settings(t, baseVariant)
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(presetNumbers)) {
		preset, want, _ := strings.Cut(line, ":")
		seen[preset] = true
		own := settings(t, preset)
		var got []string
		for _, field := range slices.Sorted(maps.Keys(own)) {
			if own[field] != off[field] && field != "faithful" && !impliedBy(field, own[field]) {
				got = append(got, field+"="+strings.ReplaceAll(own[field], " ", ","))
			}
		}
		fields := strings.Fields(want)
		slices.Sort(fields)
		if strings.Join(got, " ") != strings.Join(fields, " ") {
			t.Errorf("%s sets\n  %s, want\n  %s", preset, strings.Join(got, " "), strings.Join(fields, " "))
		}
	}
	for _, preset := range Presets() {
		if !seen[preset] {
			t.Errorf("%s is not in the table", preset)
		}
	}
}

// impliedBy reports whether a value is another way to say the default.
func impliedBy(field, value string) bool {
	return field == "limits.at_limit" && value == "stop" || field == "policy.on_failure" && value == "model"
}
