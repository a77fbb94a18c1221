package contract

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPreset is how deep defaults may be nested in defaults.
const maxPreset = 8

// A preset is a default with its own content filled in.
type preset struct {
	value any
	ok    bool // the schema has a default that matches it
}

// A presetKey holds what a preset depends on: its schema, and how many defaults it
// is nested in.
type presetKey struct {
	schema *jsonschema.Schema
	within int
}

// fill fills in the defaults and returns the value.
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

// preset returns the default of a schema. It does not spend steps of the current
// check, so a check takes as many steps whether the preset is known or not.
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

// clone returns a copy of a JSON value. Changes to the copy do not change the schema.
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
