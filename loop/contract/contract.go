// Package contract checks texts against JSON Schemas (draft 2020-12, with formats)
// for [loop.Contracts]: arguments before a tool gets them, and results before the
// model reads them. It fills in defaults and makes a bounded number of small
// repairs.
//
// # Defaults
//
// A missing field gets the default of its schema, also in nested objects and in
// the items of arrays. The content of a default gets defaults too, up to 8 levels
// deep. A default does not count as a repair. A missing object without a default
// is not created for the defaults of its fields. A default that does not match its
// own schema is not filled in.
//
// # Repairs
//
// A text that does not match its schema is repaired if there is only one way:
//
//   - A required field is missing, the object allows only the fields that it
//     lists, and one field that it does not list has a name within edit distance
//     2 of the missing one's. That field is renamed. If another missing field or
//     another unlisted one is also that near, there are two ways.
//   - A required field is missing, and its schema allows only one value: a const,
//     an enum of one member, or the type null. The field gets that value.
//   - A string is not a member of its enum, and exactly one member is within edit
//     distance 2. The string becomes that member.
//
// The edit distance is Levenshtein's, in Unicode code points; case matters.
// Repairs are made from the outside in, in an object in the order above and then by
// field name. Every repair counts, even if the text does not match the schema
// afterwards. The repaired text is checked again.
//
// Defaults and repairs apply only to schemas that certainly apply: those reached
// through properties, patternProperties, additionalProperties, prefixItems, items,
// $ref and allOf. Within anyOf, oneOf, if, not and the like nothing is filled in
// or repaired, since it is not known which branch the author of the text meant.
//
// # Bounds
//
// A text may have at most 1 MiB, 100,000 values and 1,000 levels (fewer if the
// schema has more than 100 references). A number may have at most 400 characters
// and an exponent of at most ±400. A schema may have at most 64 KiB and 100
// levels. A check may take at most 500,000 steps, since a recursive schema with
// alternatives could otherwise take for ever. An object must not have a key twice.
// Only references within the schema are followed; no files are read and no network
// is used.
package contract

import (
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentbench-go/agentbench/loop"
)

// Compiler returns the compiler of JSON Schemas. The process has only one, which
// keeps compiled schemas. Compiler and schemas are safe for use by several
// goroutines at once.
func Compiler() loop.SchemaCompiler { return shared }

var shared = &compiler{known: map[string]*schema{}}

// A compiler keeps the schemas that it has compiled, by their text.
type compiler struct {
	mu    sync.Mutex
	known map[string]*schema
}

// maxKnown is how many schemas a compiler keeps. When it is full it drops all.
const maxKnown = 1000

// Compile compiles a schema. The error says what is wrong with it, and where.
func (c *compiler) Compile(text string) (loop.Schema, error) {
	c.mu.Lock()
	s := c.known[text]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s = &schema{text: text}
	k, err := s.checker()
	if err != nil {
		return nil, err
	}
	s.giveBack(k)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[text] = s
	return s, nil
}

// A schema is a valid schema with its idle checkers.
type schema struct {
	text string

	mu   sync.Mutex
	idle []*checker
}

// checker returns an idle checker, or a new one.
func (s *schema) checker() (*checker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		k := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return k, nil
	}
	return newChecker(s.text)
}

// giveBack makes a checker idle.
func (s *schema) giveBack(k *checker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, k)
}

// Check implements [loop.Schema]. It returns a text without defaults and repairs
// unchanged. It writes any other text anew, with sorted keys and unchanged numbers.
// problem names each place as a JSON pointer, and what was expected there, in a
// fixed order. missing names a field in a nested object with its path, such as
// filter/owner. If problem is not "", it is about the repaired text, which is
// fixed.
func (s *schema) Check(text string, repairs int) (fixed string, repaired int, problem string, missing []string) {
	k, err := s.checker()
	if err != nil { // cannot happen: Compile has compiled it once
		return text, 0, err.Error(), nil
	}
	defer s.giveBack(k)
	defer func() {
		if r := recover(); r == errTooManySteps {
			fixed, repaired, problem, missing = text, 0, errTooManySteps.Error(), nil
		} else if r != nil {
			panic(r)
		}
	}()
	return k.check(text, repairs)
}

// A checker checks one text at a time.
type checker struct {
	root   *jsonschema.Schema
	limits limits // of a text
	steps  int    // the steps that are left

	// Results about schemas that are computed once.
	parts   map[*jsonschema.Schema][]*jsonschema.Schema
	presets map[presetKey]preset

	// The state of the current check.
	changed  bool
	repairs  int // the repairs that are left
	repaired int
	missing  []string
}

func newChecker(text string) (k *checker, err error) {
	doc, err := read(text, schemaLimits)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	k = &checker{
		limits:  textLimits(doc),
		parts:   map[*jsonschema.Schema][]*jsonschema.Schema{},
		presets: map[presetKey]preset{},
	}
	k.root, err = compile(doc, func() { k.spend(1) })
	return k, err
}

// check is Check, and panics with errTooManySteps.
func (k *checker) check(text string, repairs int) (fixed string, repaired int, problem string, missing []string) {
	k.steps, k.changed, k.repairs, k.repaired, k.missing = maxSteps, false, repairs, 0, nil
	value, err := read(text, k.limits)
	if err != nil {
		return text, 0, err.Error(), nil
	}
	value = k.fill(value)
	err = k.root.Validate(value)
	if err != nil && repairs > 0 {
		value, _ = read(text, k.limits) // as the model wrote it
		value = k.fill(k.mend(value))
		err = k.root.Validate(value)
	}
	if k.changed {
		text = write(value)
	}
	if err != nil {
		return text, k.repaired, describe(err), k.findMissing(value)
	}
	return text, k.repaired, "", nil
}

var errTooManySteps = errors.New("it takes too many steps to check")

// spend counts n steps of the current check. It panics with errTooManySteps if
// there are too few left.
func (k *checker) spend(n int) {
	if k.steps -= n; k.steps < 0 {
		panic(errTooManySteps)
	}
}
