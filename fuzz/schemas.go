package fuzz

import (
	"sync"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/contract"
)

// schemas reads JSON Schemas, each one once: compiling takes longer than a run.
type schemas struct{}

var compiled sync.Map // text → loop.Schema

// Compile reads a schema.
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
