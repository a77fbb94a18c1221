package tape_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/cassettes/tape"
)

// The first client records what the server says, the second gets the same answer from
// the cassette, without a network.
func ExampleBegin() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "mail.cassette.yaml")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"text":"I wrote to ada@example.org."}`)
	}))
	defer server.Close()

	for _, mode := range []tape.Mode{tape.Rewrite, tape.None} {
		redactor, err := secrets.New(secrets.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		transport, err := tape.Begin(file, mode, http.DefaultTransport, redactor)
		if err != nil {
			fmt.Println(err)
			return
		}
		client := &http.Client{Transport: transport}
		resp, err := client.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m"}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(mode, string(body), err)

		if transport.Recorded() > 0 {
			err = transport.Save(transport.Head())
		} else {
			err = transport.Leftovers()
		}
		fmt.Println(transport.Recorded(), "recorded,", transport.Played(), "played", err)
	}
	// Output:
	// rewrite {"text":"I wrote to ada@example.org."} <nil>
	// 1 recorded, 0 played <nil>
	// none {"text":"I wrote to [email-1]."} <nil>
	// 0 recorded, 1 played <nil>
}
