package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
)

// The model refuses the first try with a 429 and then answers. An agent's client gets
// the address of the server as its base URL.
func ExampleNew() {
	server, err := serve.New([]serve.Scenario{{Name: "mine/busy", Script: &fakes.Script{
		Task: "Say hello.",
		Model: []fakes.Step{{
			Text:     "Hello.",
			Failures: []fakes.ModelFailure{{Status: 429, Text: "slow down", RetryAfter: 5 * time.Second}},
		}},
	}}}, serve.Options{Speed: 1000}) // a wait of 2 s takes 2 ms
	if err != nil {
		fmt.Println(err)
		return
	}
	s := httptest.NewServer(server)
	defer s.Close()

	for range 2 {
		resp, err := http.Post(s.URL+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"model":"any","messages":[{"role":"user","content":"Say hello."}]}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.StatusCode, strings.Contains(string(body), "Hello."), err)
	}
	for _, e := range server.Journal().Entries {
		fmt.Println("request", e.Request, "try", e.Try, e.Fault)
	}
	// Output:
	// 429 false <nil>
	// 200 true <nil>
	// request 1 try 1 status-429
	// request 1 try 2
}
