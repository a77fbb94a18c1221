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
recommended:        limits.turns=120 limits.calls=300 limits.asked=400 limits.calls_per_turn=32 limits.depth=8 limits.at_limit=final-answer time.run=1h time.model=10m time.first_token=5m time.chunk=3m time.tool=5m errors.max_consecutive=5 errors.kinds=[exception,text,unknown,invalid,denied] retry.max=3 retry.backoff=exponential retry.cap=30s model_retry.max=4 model_retry.cap=1m model_retry.same_deadline=2 history.compact_on_overflow=true
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
framework-spec:     contracts.input=true contracts.max_payload_bytes=512000 contracts.output=true contracts.repair=1 limits.at_limit=summary limits.turns=16 policy.ask_missing=true policy.fallbacks=true policy.on_failure=table retry.backoff=decorrelated-jitter retry.max=2 time.run=2m
meai:               errors.batch=any errors.kinds=[exception] errors.max_consecutive=3 errors.text_prefix= errors.trip=exceeded limits.at_limit=grace limits.turns=40 model_retry.base=800ms model_retry.broken_streams=1 model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=3 model_retry.statuses=[408,429,500,502,503,504] parallel.max=1
gemini-cli-2025:    model_retry.base=5s model_retry.broken_streams=4 model_retry.cap=30s model_retry.cut_replies=0 model_retry.empty_replies=3 model_retry.max=9
gemini-cli-2026:    model_retry.base=5s model_retry.broken_streams=4 model_retry.cap=30s model_retry.cut_replies=0 model_retry.empty_replies=3 model_retry.max=9
openhands-v1:       errors.text_prefix= limits.turns=500 model_retry.base=8s model_retry.cap=1m4s model_retry.max=4
openhands-v0:       errors.text_prefix= limits.turns=500 model_retry.base=8s model_retry.cap=1m4s model_retry.max=4 scope=session
openclaw:
cline:              errors.kinds=[exception,unknown,invalid] errors.max_consecutive=3 errors.text_prefix= model_retry.cut_replies=3 model_retry.max=2 scope=session
roo-code:           errors.kinds=[unknown,invalid] errors.max_consecutive=3 errors.text_prefix= model_retry.base=5s model_retry.cap=10m model_retry.cut_replies=0 model_retry.empty_replies=1000 model_retry.max=200 model_retry.max_wait=0s scope=session
goose:              errors.text_prefix= limits.near=500 limits.turns=1000 model_retry.broken_streams=1 model_retry.cap=30s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=3
crush:              model_retry.base=5s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=3 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
opencode:           model_retry.base=2s model_retry.cap=30s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=200 model_retry.max_wait=0s
langgraph-python:   contracts.broken_args=drop limits.steps=10007 model_retry.base=500ms model_retry.broken_streams=1 model_retry.cap=8s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=2 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
langgraph-js:       contracts.broken_args=drop limits.steps=25 model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=6 model_retry.statuses=[408,5xx]
langchain-limits:   contracts.broken_args=drop limits.calls=10 limits.turns=5 model_retry.base=500ms model_retry.broken_streams=1 model_retry.cap=8s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=2 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
openai-agents:      limits.turns=10 model_retry.base=500ms model_retry.broken_streams=1 model_retry.cap=8s model_retry.cut_replies=0 model_retry.empty_replies=9 model_retry.max=2 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
vercel-ai:          limits.turns=20 model_retry.base=2s model_retry.broken_streams=1 model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=2 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
pydantic-ai:        errors.text_prefix= limits.turns=50 model_retry.base=500ms model_retry.broken_streams=1 model_retry.cap=8s model_retry.cut_replies=0 model_retry.empty_replies=1 model_retry.max=2 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
smolagents:         limits.at_limit=final-answer limits.turns=20 model_retry.base=2m model_retry.cap=0s model_retry.cut_replies=19 model_retry.empty_replies=19 model_retry.max=2 model_retry.max_wait=10m model_retry.statuses=[429]
crewai:             limits.at_limit=final-answer limits.turns=25 model_retry.base=500ms model_retry.broken_streams=1 model_retry.cap=8s model_retry.cut_replies=24 model_retry.max=2 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx] parallel.max=1 retry.backoff=constant retry.base=0s retry.codes=[Timeout,RateLimited,RetryableServer,InvalidInput,NotFound,Unauthorized,Forbidden,ToolBug,OutputSchemaMismatch] retry.max=2
zeroclaw:           model_retry.base=500ms model_retry.max=2
qwen-code-0.15:     model_retry.base=1.5s model_retry.broken_streams=1 model_retry.cap=30s model_retry.cut_replies=4 model_retry.empty_replies=4 model_retry.max=6
qwen-code-0.24:     limits.calls=1000 model_retry.base=1.5s model_retry.broken_streams=1 model_retry.cap=30s model_retry.cut_replies=4 model_retry.empty_replies=4 model_retry.max=6
qwen-code-0.24-heuristics: limits.calls=1000 model_retry.base=1.5s model_retry.broken_streams=1 model_retry.cap=30s model_retry.cut_replies=4 model_retry.empty_replies=4 model_retry.max=6
hermes-agent:       limits.spawns=50 model_retry.max=2
deer-flow:          contracts.broken_args=drop model_retry.cap=8s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=2 model_retry.statuses=[408,409,425,429,500,502,503,504]
autogen:            limits.turns=1 model_retry.base=500ms model_retry.broken_streams=1 model_retry.cap=8s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=2 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
autogen-0.2:        limits.turns=100 model_retry.base=500ms model_retry.broken_streams=1 model_retry.cap=8s model_retry.max=2 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
google-adk:         limits.turns=500 model_retry.cut_replies=0 model_retry.empty_replies=0
claude-agent-sdk:   model_retry.base=500ms model_retry.cap=32s model_retry.cut_replies=3 model_retry.empty_replies=1 model_retry.max=10 model_retry.statuses=[408,409,429,5xx]
codex-cli:          model_retry.base=200ms model_retry.broken_streams=6 model_retry.cap=900ms model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=29 model_retry.statuses=[5xx] time.chunk=5m time.first_token=5m
adk-go:             model_retry.cut_replies=0 model_retry.empty_replies=0
aider:              limits.turns=4 model_retry.base=250ms model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=8
eino-react:         errors.batch=any errors.kinds=[exception,invalid] errors.max_consecutive=1 errors.text_prefix= limits.at_limit=grace limits.turns=6 model_retry.cut_replies=0 model_retry.empty_replies=0
eino-agent:         errors.batch=any errors.kinds=[exception,invalid] errors.max_consecutive=1 errors.text_prefix= limits.turns=20 model_retry.cut_replies=0 model_retry.empty_replies=0
genkit-go:          errors.batch=any errors.kinds=[exception,unknown,invalid] errors.max_consecutive=1 errors.text_prefix= limits.at_limit=grace limits.turns=5 model_retry.base=500ms model_retry.broken_streams=1 model_retry.cap=8s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=2 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
langchaingo:        errors.batch=any errors.kinds=[exception] errors.max_consecutive=1 errors.text_prefix= limits.turns=5 model_retry.cut_replies=0 model_retry.empty_replies=0 parallel.max=1
fantasy:            model_retry.base=5s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=3 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
mastra-0.24:        limits.turns=5 model_retry.broken_streams=1 model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=2 model_retry.statuses=[408,409,429,5xx]
mastra:             limits.turns=5 model_retry.cut_replies=0 model_retry.empty_replies=0
llamaindex:         limits.steps=39 model_retry.cap=20s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=2
llamaindex-ts:      model_retry.base=500ms model_retry.broken_streams=1 model_retry.cap=8s model_retry.cut_replies=0 model_retry.empty_replies=0 model_retry.max=10 model_retry.max_wait=1m model_retry.statuses=[408,409,429,5xx]
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
			t.Errorf("%s is not in presetNumbers, which says what its source sets", preset)
		}
	}
}

// impliedBy reports whether a value is another way to say the default.
func impliedBy(field, value string) bool {
	return field == "limits.at_limit" && value == "stop" || field == "policy.on_failure" && value == "model"
}
