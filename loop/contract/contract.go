// Package contract checks texts against JSON Schemas (draft 2020-12, formats
// asserted) for [loop.Contracts]: arguments before a tool gets them, results
// before the model reads them. It mends small faults within a bound.
//
// # Defaults
//
// A field that is not there gets the default of its schema, in nested objects
// and in the items of arrays too, and so does a default's own content, up to 8
// deep. That is no repair. An object that is not there and has no default is
// not made for the sake of what would be in it. A default that does not keep
// its own schema is not filled in.
//
// # Repairs
//
// A text that does not keep its schema is mended where there is one way only:
//
//   - A required field is missing, the object allows no other fields than it
//     lists, and it has one that it does not list, under a name that is within
//     edit distance 2 of the missing one's: it gets that name. A listed field
//     that is not there either, or another unlisted one, as near as that makes
//     it two ways.
//   - A required field is missing whose schema allows one value: a const, an
//     enum of one member, or the type null. It gets that value.
//   - A string that is none of an enum's members is within edit distance 2 of
//     exactly one of them: it becomes that one.
//
// The edit distance is Levenshtein's, in Unicode code points; case counts. The
// faults are mended from the outside in, fields in the order of their names,
// the three kinds in this order; what was mended counts, whether that saves the
// text or not. What comes out is checked again.
//
// Both hold for what is certain: what lies on the way through properties,
// patternProperties, additionalProperties, prefixItems, items, $ref and allOf.
// Within anyOf, oneOf, if, not and the like, of which nobody knows which branch
// is meant, nothing is filled in or mended.
//
// # Bounds
//
// A text may have 1 MiB, 100,000 values and 1,000 levels (fewer under a schema
// with more than 100 references), and no number of more than 400 characters or
// with an exponent beyond ±400; a schema 64 KiB and 100 levels. A check may take
// 500,000 steps: a recursive schema with alternatives could otherwise take
// for ever. No object may have a key twice. Only references within the schema
// are followed: nothing is read from files or the network.
package contract

import (
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentbench-go/agentbench/loop"
)

// Compiler gives the compiler of JSON Schemas. It is one for the whole process,
// since it remembers what it has compiled, and safe for use by several
// goroutines at once; so are its schemas.
func Compiler() loop.SchemaCompiler { return shared }

var shared = &compiler{known: map[string]*schema{}}

// A compiler remembers the schemas that it has compiled by their text.
type compiler struct {
	mu    sync.Mutex
	known map[string]*schema
}

// maxKnown is how many schemas are remembered; then all are forgotten.
const maxKnown = 1000

// Compile reads a schema. The error says what is wrong with it, and where.
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

// A schema is a schema that can be compiled, with its checkers that are idle.
type schema struct {
	text string

	mu   sync.Mutex
	idle []*checker
}

// checker gives one that nobody uses.
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

func (s *schema) giveBack(k *checker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, k)
}

// Check is as [loop.Schema] says. A text that needed no default and no repair
// comes back as it was; any other is written anew, with its keys in order and
// its numbers as they were. Problems name the place as a JSON pointer, and what
// was expected there, in a fixed order. A field that is missing further down is
// named with the way to it: filter/owner. Where problem is not "", it is about
// the mended text, and fixed is that text as far as it came.
func (s *schema) Check(text string, repairs int) (fixed string, repaired int, problem string, missing []string) {
	k, err := s.checker()
	if err != nil { // it was compiled once, so it always can be
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
	steps  int    // that are left

	// What has been worked out about schemas.
	parts   map[*jsonschema.Schema][]*jsonschema.Schema
	presets map[presetKey]preset

	// Of the text under way.
	changed  bool
	repairs  int // that are left
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

// spend counts steps of the check under way, and breaks it off when none is
// left.
func (k *checker) spend(n int) {
	if k.steps -= n; k.steps < 0 {
		panic(errTooManySteps)
	}
}
