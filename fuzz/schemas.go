package fuzz

import (
	"sync"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/contract"
)

// schemas compiles each JSON Schema once, because compiling takes longer than a run.
type schemas struct{}

var compiled sync.Map // text → loop.Schema

// Compile returns the compiled schema of a text.
func (schemas) Compile(text string) (loop.Schema, error) {
	if s, ok := compiled.Load(text); ok {
		return s.(loop.Schema), nil
	}
	s, err := contract.Compiler().Compile(text)
	if err == nil {
		compiled.Store(text, s)
	}
	return s, err
}
