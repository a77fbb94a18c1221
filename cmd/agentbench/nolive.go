//go:build nolive

package main

import "github.com/agentbench-go/agentbench/cmd/agentbench/internal/cli"

// built has no live models.
var built cli.Options
