package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/spf13/cobra"
)

// A command that needs a live model gets what the program was built with, and in
// a build without one ends as for bad usage, with the reason.
func TestConnector(t *testing.T) {
	made := errors.New("made")
	connect := func(endpoint.Settings, http.RoundTripper) (loop.Model, error) { return nil, made }
	for _, test := range []struct {
		name    string
		options Options
		code    int
		says    string
	}{
		{"with live models", Options{Connect: connect}, exitPassed, ""},
		{"tag nolive", Options{}, exitUsage, "error: this build has no live models (tag nolive)\nhint: build it without -tags nolive\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
				connect, err := connector(cmd)
				if err == nil {
					if _, got := connect(endpoint.Settings{}, nil); got != made {
						t.Errorf("another function was found: %v", got)
					}
				}
				return err
			}, SilenceErrors: true, SilenceUsage: true}
			cmd.SetArgs([]string{})
			var said strings.Builder
			if code := report(&said, cmd.ExecuteContext(test.options.within(context.Background()))); code != test.code || said.String() != test.says {
				t.Errorf("exit code %d, said %q, want %d, %q", code, said.String(), test.code, test.says)
			}
		})
	}
}
