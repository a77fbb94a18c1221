//go:build !nolive

package main

import (
	"github.com/agentbench-go/agentbench/cassettes/openai"
	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/cli"
)

// built supports live models. Their client library takes a minute to compile;
// build with -tags nolive to leave it out.
var built = cli.Options{Connect: openai.New}
