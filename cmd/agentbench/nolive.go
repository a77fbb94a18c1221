//go:build nolive

package main

import "github.com/agentbench-go/agentbench/cmd/agentbench/internal/cli"

// built does not support live models.
var built cli.Options
