//go:build unix

package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// agentWord is the first argument of the test binary when it is an agent.
const agentWord = "__agent"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Word:
			os.Exit(Supervise(os.Args[2:]))
		case agentWord:
			os.Exit(tinyAgent(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

// A message is one of OpenAI's Chat Completions.
type message struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls,omitempty"`
	CallID string `json:"tool_call_id,omitempty"`
}

var errBusy = errors.New("busy")

// ask sends the messages to the model.
func ask(history []message) (m message, finish string, err error) {
	body, _ := json.Marshal(map[string]any{"model": "tiny", "messages": history, "tools": []any{map[string]any{"type": "function", "function": map[string]any{
		"name": "read_file", "description": "Read a file", "parameters": map[string]any{"type": "object", "required": []string{"path"}, "properties": map[string]any{"path": map[string]any{"type": "string"}}}}}}})
	resp, err := http.Post(os.Getenv("OPENAI_BASE_URL")+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return m, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return m, "", err
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		return m, "", errBusy
	case resp.StatusCode != http.StatusOK:
		return m, "", fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	var reply struct {
		Choices []struct {
			Message message `json:"message"`
			Finish  string  `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return m, "", err
	}
	return reply.Choices[0].Message, reply.Choices[0].Finish, nil
}

// tinyAgent is an agent of known behaviour.
//
//	naive      no net at all: any error ends it, any reply without calls is the answer
//	retries    as naive, but a failed request is tried again without end
//	retries-3  as naive, but a failed request is tried again three times
//	cap-10     as retries-3, but it gives up before the eleventh request
//	breaker    as retries-3, but it gives up at the third equal call in a row
//	hoarder    as retries-3, but it gives up at the third equal call in all
//	careful    as breaker, and a reply that is empty or cut is asked for again three times
//	crash      ends with code 3 at the first reply
//	hangs      asks once and then sleeps
//	astray     asks a path that no API has
//	outside    asks the port without the trial's path
//	floods     asks as often as it can, from many sides
//	leaves     as naive, but leaves a child that sleeps, in another process group
func tinyAgent(kind string) int {
	say := func(format string, args ...any) int {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		return 1
	}
	switch kind {
	case "astray":
		http.Get(os.Getenv("OPENAI_BASE_URL") + "/elsewhere")
		return 1
	case "outside":
		u, _ := url.Parse(os.Getenv("OPENAI_BASE_URL"))
		http.Post("http://"+u.Host+"/v1/chat/completions", "application/json", nil)
		return 1
	case "floods":
		task := "go"
		for range 20 {
			go func() {
				for {
					ask([]message{{Role: "user", Content: &task}})
				}
			}()
		}
		select {}
	}
	tries, limit, inRow, inAll, again := 0, 1<<30, 1<<30, 1<<30, 0
	switch kind {
	case "retries":
		tries = 1 << 30
	case "naive", "crash", "hangs", "leaves":
	default:
		tries = 3
	}
	switch kind {
	case "cap-10":
		limit = 10
	case "breaker", "careful":
		inRow = 3
	case "hoarder":
		inAll = 3
	}
	if kind == "careful" {
		again = 3
	}
	if kind == "leaves" {
		c := exec.Command("sleep", "1000")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			return say("%v", err)
		}
	}
	task := "go"
	history := []message{{Role: "user", Content: &task}}
	seen, last, row, failed, empty := map[string]int{}, "", 0, 0, 0
	for requests := 0; ; {
		if requests++; requests > limit {
			return say("gave up before request %d", requests)
		}
		m, finish, err := ask(history)
		if err != nil {
			if failed++; failed <= tries {
				time.Sleep(time.Millisecond)
				continue
			}
			return say("the model failed: %v", err)
		}
		failed = 0
		switch kind {
		case "crash":
			return 3
		case "hangs":
			time.Sleep(time.Hour)
		}
		text := ""
		if m.Content != nil {
			text = *m.Content
		}
		if len(m.Calls) == 0 {
			if hollow := strings.TrimSpace(text) == "" || finish == "length"; !hollow || again == 0 {
				fmt.Println(text)
				return 0
			}
			if empty++; empty > again {
				return say("the model says nothing")
			}
			continue
		}
		empty = 0
		history = append(history, m)
		for _, c := range m.Calls {
			one := c.Function.Name + c.Function.Arguments
			if seen[one]++; one == last {
				row++
			} else {
				last, row = one, 1
			}
			if row >= inRow || seen[one] >= inAll {
				return say("loop detected: %s", one)
			}
			result := "Error: no such tool"
			var args struct {
				Path string `json:"path"`
			}
			if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
				result = "Error: the arguments are not JSON"
			} else if c.Function.Name == "read_file" {
				b, err := os.ReadFile(args.Path)
				if result = string(b); err != nil {
					result = "Error: " + err.Error()
				}
			}
			history = append(history, message{Role: "tool", CallID: c.ID, Content: &result})
		}
	}
}
