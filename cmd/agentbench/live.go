//go:build !nolive

package main

import (
	"github.com/agentbench-go/agentbench/cassettes/openai"
	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/cli"
)

// built has live models. The client library behind them takes a minute to build;
// with -tags nolive it is left out.
var built = cli.Options{Connect: openai.New}
