package contract

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPreset is how deep defaults may lie within defaults.
const maxPreset = 8

// A preset is a default with its own content filled in.
type preset struct {
	value any
	ok    bool // there is one
}

// A presetKey is what a preset depends on: its schema, and the number of
// defaults that it lies in.
type presetKey struct {
	schema *jsonschema.Schema
	within int
}

// fill fills in the defaults.
func (k *checker) fill(value any) any { return k.fillIn(value, k.root, 0) }

func (k *checker) fillIn(value any, s *jsonschema.Schema, within int) any {
	w := walk{checker: k, up: func(v any, s *jsonschema.Schema, _ *place) any {
		fields, ok := v.(map[string]any)
		if !ok {
			return v
		}
		for name, field := range s.Properties {
			if _, there := fields[name]; there {
				continue
			}
			if p := k.preset(field, within); p.ok {
				fields[name] = clone(p.value)
				k.changed = true
			}
		}
		return v
	}}
	return w.value(value, s, nil)
}

// preset works out the default of a schema. It takes no steps from the check
// under way, which may be the first one to need it or not.
func (k *checker) preset(s *jsonschema.Schema, within int) preset {
	key := presetKey{s, within}
	p, known := k.presets[key]
	if known || within == maxPreset {
		return p
	}
	steps, changed := k.steps, k.changed
	k.steps = maxSteps
	for _, part := range k.partsOf(s) {
		if part.Default == nil {
			continue
		}
		value := k.fillIn(clone(*part.Default), s, within+1)
		if s.Validate(value) == nil {
			p = preset{value, true}
		}
		break
	}
	k.steps, k.changed = steps, changed
	k.presets[key] = p
	return p
}

// clone copies a JSON value, so that a change of it leaves the schema alone.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		v = maps.Clone(v)
		for name := range v {
			v[name] = clone(v[name])
		}
		return v
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i] = clone(v[i])
		}
		return v
	}
	return value
}
