package cli

import (
	"context"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/spf13/cobra"
)

// Options are what the program was built with.
type Options struct {
	// Connect makes live models. nil: there are none, as in a build with the tag
	// nolive.
	Connect endpoint.Connect
}

type optionsKey struct{}

// within lets the commands that run within a context find the options.
func (o Options) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, optionsKey{}, o)
}

// connector gives what makes live models, for a command that needs one.
func connector(cmd *cobra.Command) (endpoint.Connect, error) {
	if o, _ := cmd.Context().Value(optionsKey{}).(Options); o.Connect != nil {
		return o.Connect, nil
	}
	return nil, misuse("build it without -tags nolive", "this build has no live models (tag nolive)")
}
