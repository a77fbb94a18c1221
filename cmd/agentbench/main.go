// Agentbench tests how agent loops fail. Run `agentbench help`, or read the
// package comment of [github.com/agentbench-go/agentbench/cmd/agentbench/internal/cli].
package main

import (
	"os"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, built)) }
