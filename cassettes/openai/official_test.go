package openai

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/loop"
)

// This file drives the served script with the client library as its users write
// it, without the code of this package: the library's own accumulator, its own
// retries and its own conversion of replies into messages.

// official are the steps of a conversation: three calls at once, then one, and
// then a 429 before the answer.
var official = []fakes.Step{
	{Calls: threeCalls, TokensIn: 10, TokensOut: 5},
	{Text: "One more.", Calls: []fakes.StepCall{{Name: "look", Args: `{"at":"c"}`}}},
	{Text: "It is sunny in Oslo.", TokensIn: 30, TokensOut: 6, Failures: []fakes.ModelFailure{{Status: 429, Text: "slow down"}}},
}

// wanted is what the client must have heard.
var wanted = []loop.Reply{
	{Calls: threeAsked, TokensIn: 10, TokensOut: 5},
	{Text: "One more.", Calls: []loop.AskedCall{{ID: "call_2_1", Name: "look", Args: `{"at":"c"}`}}},
	{Text: "It is sunny in Oslo.", TokensIn: 30, TokensOut: 6},
}

func checkOfficial(t *testing.T, got []loop.Reply, journal []serve.Entry) {
	t.Helper()
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var statuses []int
	for _, e := range journal {
		statuses = append(statuses, e.Status)
		if len(e.Problems) > 0 {
			t.Errorf("protocol faults: %q", e.Problems)
		}
	}
	if diff := cmp.Diff([]int{200, 200, 429, 200}, statuses); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func options(network http.RoundTripper) []option.RequestOption {
	return []option.RequestOption{option.WithBaseURL(host + "/v1"), option.WithAPIKey("any"), option.WithHTTPClient(&http.Client{Transport: network})}
}

func TestOfficialChat(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(way{"chat", stream}.String(), func(t *testing.T) {
			served(t, official, func(t *testing.T, network http.RoundTripper, journal *[]serve.Entry) {
				svc := openai.NewChatCompletionService(options(network)...)
				params := openai.ChatCompletionNewParams{
					Model:         "any",
					Messages:      []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be brief."), openai.UserMessage("Look at a and b.")},
					Tools:         []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "look"})},
					StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
				}
				ask := func() openai.ChatCompletion {
					if !stream {
						params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
						whole, err := svc.New(t.Context(), params)
						if err != nil {
							t.Fatal(err)
						}
						return *whole
					}
					var acc openai.ChatCompletionAccumulator
					chunks := svc.NewStreaming(t.Context(), params)
					for chunks.Next() {
						if !acc.AddChunk(chunks.Current()) {
							t.Error("the library cannot add a chunk")
						}
					}
					if err := chunks.Err(); err != nil {
						t.Fatal(err)
					}
					return acc.ChatCompletion
				}
				var got []loop.Reply
				for range wanted {
					whole := ask()
					msg := whole.Choices[0].Message
					r := loop.Reply{Text: msg.Content, TokensIn: whole.Usage.PromptTokens, TokensOut: whole.Usage.CompletionTokens}
					params.Messages = append(params.Messages, msg.ToParam())
					for _, call := range msg.ToolCalls {
						// Of an accumulated call AsAny gives an empty one.
						r.Calls = append(r.Calls, loop.AskedCall{ID: call.ID, Name: call.Function.Name, Args: call.Function.Arguments})
						params.Messages = append(params.Messages, openai.ToolMessage("seen", call.ID))
					}
					got = append(got, r)
				}
				checkOfficial(t, got, *journal)
			})
		})
	}
}

func TestOfficialResponses(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(way{"responses", stream}.String(), func(t *testing.T) {
			served(t, official, func(t *testing.T, network http.RoundTripper, journal *[]serve.Entry) {
				svc := responses.NewResponseService(options(network)...)
				items := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("Look at a and b.", responses.EasyInputMessageRoleUser)}
				ask := func() responses.Response {
					params := responses.ResponseNewParams{Model: "any", Store: openai.Bool(false), Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items},
						Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("look", map[string]any{"type": "object"}, false)}}
					if !stream {
						whole, err := svc.New(t.Context(), params)
						if err != nil {
							t.Fatal(err)
						}
						return *whole
					}
					events := svc.NewStreaming(t.Context(), params)
					var last responses.Response
					text := ""
					for events.Next() {
						switch e := events.Current().AsAny().(type) {
						case responses.ResponseTextDeltaEvent:
							text += e.Delta
						case responses.ResponseCompletedEvent:
							last = e.Response
						}
					}
					if err := events.Err(); err != nil {
						t.Fatal(err)
					}
					if text != last.OutputText() {
						t.Errorf("the pieces say %q, the whole %q", text, last.OutputText())
					}
					return last
				}
				var got []loop.Reply
				for range wanted {
					whole := ask()
					r := loop.Reply{Text: whole.OutputText(), TokensIn: whole.Usage.InputTokens, TokensOut: whole.Usage.OutputTokens}
					var results responses.ResponseInputParam
					for _, item := range whole.Output {
						switch v := item.AsAny().(type) {
						case responses.ResponseOutputMessage:
							said := v.ToParam()
							items = append(items, responses.ResponseInputItemUnionParam{OfOutputMessage: &said})
						case responses.ResponseFunctionToolCall:
							r.Calls = append(r.Calls, loop.AskedCall{ID: v.CallID, Name: v.Name, Args: v.Arguments})
							call := v.ToParam()
							items = append(items, responses.ResponseInputItemUnionParam{OfFunctionCall: &call})
							out := responses.ResponseInputItemParamOfFunctionCallOutput("seen")
							out.OfFunctionCallOutput.CallID = openai.String(v.CallID) // the helper sets none
							results = append(results, out)
						default:
							t.Errorf("an item of the type %q", item.Type)
						}
					}
					items = append(items, results...)
					got = append(got, r)
				}
				checkOfficial(t, got, *journal)
			})
		})
	}
}

// What the library makes of the faults: this package would not be needed if it
// told them all. A version that does will fail here.
func TestOfficialFaults(t *testing.T) {
	ask := func(t *testing.T, failure fakes.ModelFailure) (finish string, err error) {
		served(t, []fakes.Step{{Text: "It is sunny.", Chunks: 4, Failures: []fakes.ModelFailure{failure}}}, func(t *testing.T, network http.RoundTripper, _ *[]serve.Entry) {
			svc := openai.NewChatCompletionService(append(options(network), option.WithMaxRetries(0))...)
			var acc openai.ChatCompletionAccumulator
			chunks := svc.NewStreaming(t.Context(), openai.ChatCompletionNewParams{Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")}})
			for chunks.Next() {
				acc.AddChunk(chunks.Current())
			}
			if err = chunks.Err(); err == nil {
				finish = acc.Choices[0].FinishReason
			}
		})
		return finish, err
	}
	for _, wire := range []fakes.Wire{fakes.WireEndsEarly, fakes.WireCutEvent} {
		if finish, err := ask(t, fakes.ModelFailure{Wire: wire, Chunks: 2}); err != nil || finish != "" {
			t.Errorf("%s: finish reason %q, error %v: the library tells it now", wire, finish, err)
		}
	}
	_, err := ask(t, fakes.ModelFailure{Status: 429, Text: "slow down"})
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != 429 || e.Message != "slow down" || strings.Contains(err.Error(), "slow down") {
		t.Errorf("%v", err)
	}
}
