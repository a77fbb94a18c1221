package soak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/loop"
)

// A server serves the models of all kinds, and has a client for them.
type server struct {
	base   string
	client *http.Client
	stop   func() error
}

// startServer serves on a free port of this machine. Its client keeps a connection
// for each conversation.
func startServer(kinds []Kind, conversations int) (*server, error) {
	var list []serve.Scenario
	for i := range kinds {
		list = append(list, serve.Scenario{Name: "soak/" + kinds[i].Name, Script: &kinds[i].Script})
	}
	s, err := serve.New(list, serve.Options{ScriptedUsage: true})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	transport := &http.Transport{MaxIdleConns: conversations, MaxIdleConnsPerHost: conversations, IdleConnTimeout: time.Minute}
	return &server{
		base:   "http://" + listener.Addr().String(),
		client: &http.Client{Transport: transport},
		stop: func() error {
			transport.CloseIdleConnections()
			cancel()
			return <-ended
		},
	}, nil
}

// A remote is a model behind HTTP. It uses Chat Completions, and streams every other
// reply.
type remote struct {
	server       *server
	kind         string
	conversation string
	took         func(time.Duration) // gets how long each request took
}

type chatCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content string     `json:"content"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type chatAnswer struct {
	Choices []struct {
		Message      chatMessage `json:"message"`
		Delta        chatMessage `json:"delta"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		In  int64 `json:"prompt_tokens"`
		Out int64 `json:"completion_tokens"`
	} `json:"usage"`
	Error *struct{ Message string } `json:"error"`
}

// messages returns a history in the form of the API.
func messages(history []loop.Message) []chatMessage {
	var out []chatMessage
	for i := range history {
		m := &history[i]
		c := chatMessage{Content: m.Text}
		switch m.Role {
		case loop.ToolRole:
			c.Role, c.CallID = "tool", m.CallID
		case loop.Assistant:
			c.Role = "assistant"
			for j, call := range m.Calls {
				x := chatCall{Index: j, ID: call.ID, Type: "function"}
				x.Function.Name, x.Function.Arguments = call.Name, call.Args
				c.Calls = append(c.Calls, x)
			}
		default:
			c.Role = "user"
		}
		out = append(out, c)
	}
	return out
}

// Reply asks the server.
func (r *remote) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	stream := req.Ref.N%2 == 0
	var list []map[string]any
	for _, t := range req.Tools {
		list = append(list, map[string]any{"type": "function", "function": map[string]any{"name": t.Name}})
	}
	body, err := json.Marshal(map[string]any{"model": "scripted", "messages": messages(req.History), "tools": list, "stream": stream})
	if err != nil {
		return loop.Reply{}, err
	}
	start := time.Now()
	defer func() { r.took(time.Since(start)) }()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.server.base+"/run/soak/"+r.kind+"/1/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return loop.Reply{}, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-Agentbench-Conversation", r.conversation)
	resp, err := r.server.client.Do(q)
	if err != nil {
		return loop.Reply{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		return loop.Reply{}, &loop.ModelError{Status: resp.StatusCode, Text: string(text)}
	}
	if stream {
		return readStream(resp.Body, delta)
	}
	var a chatAnswer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return loop.Reply{}, err
	}
	if len(a.Choices) == 0 {
		return loop.Reply{}, errors.New("the answer has no choices")
	}
	io.Copy(io.Discard, resp.Body) // so that the connection is used again
	var reply loop.Reply
	reply.TokensIn, reply.TokensOut = a.Usage.In, a.Usage.Out
	add(&reply, a.Choices[0].Message, a.Choices[0].FinishReason)
	return reply, nil
}

// readStream reads a streamed reply.
func readStream(body io.Reader, delta func(string)) (loop.Reply, error) {
	var reply loop.Reply
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
			continue
		case data == "[DONE]":
			io.Copy(io.Discard, body)
			return reply, nil
		}
		var a chatAnswer
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			return reply, err
		}
		if a.Error != nil {
			return reply, errors.New(a.Error.Message)
		}
		reply.TokensIn, reply.TokensOut = max(reply.TokensIn, a.Usage.In), max(reply.TokensOut, a.Usage.Out)
		for _, c := range a.Choices {
			add(&reply, c.Delta, c.FinishReason)
			delta(c.Delta.Content)
		}
	}
	if err := lines.Err(); err != nil {
		return reply, err
	}
	return reply, fmt.Errorf("the stream has no end")
}

// add adds a piece of a reply, or the whole of one that is not streamed.
func add(reply *loop.Reply, m chatMessage, finish string) {
	reply.Text += m.Content
	for i, c := range m.Calls {
		at := max(c.Index, i)
		for len(reply.Calls) <= at {
			reply.Calls = append(reply.Calls, loop.AskedCall{})
		}
		into := &reply.Calls[at]
		into.ID += c.ID
		into.Name += c.Function.Name
		into.Args += c.Function.Arguments
	}
	switch finish {
	case "tool_calls":
		reply.Finish = loop.FinishToolCalls
	case "stop":
		reply.Finish = loop.FinishStop
	}
}
