package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// The bounds of a description.
const (
	maxProblems = 5
	maxChoices  = 10  // members of an enum
	maxForms    = 5   // alternatives
	maxShown    = 60  // characters of a value
	maxPlace    = 120 // characters of a pointer
	maxWhat     = 200 // characters of a text about one alternative, or of the library's
)

// A problem says what is wrong with the value at a JSON pointer.
type problem struct{ at, what string }

// describe returns one line with the problems that a validation found. It sorts
// them by place, since the library's order is random.
func describe(err error) string {
	invalid := new(jsonschema.ValidationError)
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	problems := collect(nil, invalid)
	slices.SortFunc(problems, func(a, b problem) int {
		if c := strings.Compare(a.at, b.at); c != 0 {
			return c
		}
		return strings.Compare(a.what, b.what)
	})
	problems = slices.Compact(problems)
	var b strings.Builder
	for i, p := range problems[:min(len(problems), maxProblems)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	if more := len(problems) - maxProblems; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

func (p problem) String() string {
	if p.at == "" {
		return p.what
	}
	return printable(p.at, maxPlace) + ": " + p.what
}

// collect appends the problems of an error.
func collect(problems []problem, e *jsonschema.ValidationError) []problem {
	at := pointer(e.InstanceLocation)
	add := func(name, format string, args ...any) {
		place := at
		if name != "" {
			place += pointer([]string{name})
		}
		problems = append(problems, problem{place, fmt.Sprintf(format, args...)})
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			problems = collect(problems, cause)
		}
	case *kind.Required:
		for _, name := range k.Missing {
			add(name, "required, but missing")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			add(name, "required together with %s, but missing", shown(k.Prop))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(name, "not allowed here")
		}
	case *kind.AnyOf:
		add("", "%s", alternatives(e.Causes))
	case *kind.OneOf:
		if k.Subschemas == nil {
			add("", "%s", alternatives(e.Causes))
		} else {
			add("", "matches two alternatives, %d and %d, but must match only one", k.Subschemas[0]+1, k.Subschemas[1]+1)
		}
	default:
		add("", "%s", expected(e.ErrorKind))
	}
	return problems
}

// alternatives returns a problem of each of several alternatives.
func alternatives(causes []*jsonschema.ValidationError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "matches none of %d alternatives (", len(causes))
	for i, cause := range causes[:min(len(causes), maxForms)] {
		if i > 0 {
			b.WriteString("; ")
		}
		first := slices.MinFunc(collect(nil, cause), func(a, b problem) int {
			return strings.Compare(a.at+"\x00"+a.what, b.at+"\x00"+b.what)
		})
		fmt.Fprintf(&b, "%d: %s", i+1, cut(first.String(), maxWhat))
	}
	if len(causes) > maxForms {
		b.WriteString("; …")
	}
	b.WriteString(")")
	return b.String()
}

// expected returns what a single keyword expected.
func expected(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("expected %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Const:
		return fmt.Sprintf("expected %s, got %s", wanted(k.Want), shown(k.Got))
	case *kind.Enum:
		return fmt.Sprintf("expected %s, got %s", choices(k.Want), shown(k.Got))
	case *kind.Format:
		return fmt.Sprintf("expected the format %s, got %s", k.Want, shown(k.Got))
	case *kind.Pattern:
		return fmt.Sprintf("expected a match of %s, got %s", shown(k.Want), shown(k.Got))
	case *kind.Minimum:
		return fmt.Sprintf("expected at least %s, got %s", number(k.Want), number(k.Got))
	case *kind.Maximum:
		return fmt.Sprintf("expected at most %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("expected more than %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("expected less than %s, got %s", number(k.Want), number(k.Got))
	case *kind.MultipleOf:
		return fmt.Sprintf("expected a multiple of %s, got %s", number(k.Want), number(k.Got))
	case *kind.MinLength:
		return fmt.Sprintf("expected at least %d characters, got %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("expected at most %d characters, got %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("expected at least %d items, got %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("expected at most %d items, got %d", k.Want, k.Got)
	case *kind.FalseSchema:
		return "nothing is allowed here"
	case *kind.Not:
		return "matches a schema that it must not match"
	}
	return printable(k.LocalizedString(english), maxWhat)
}

var english = message.NewPrinter(language.English)

// choices returns a list of the members of an enum.
func choices(members []any) string {
	var texts []string
	for _, member := range members[:min(len(members), maxChoices)] {
		texts = append(texts, wanted(member))
	}
	if len(members) > maxChoices {
		texts = append(texts, "…")
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

// wanted returns a value of a schema as it is written in a problem.
func wanted(value any) string {
	switch value.(type) {
	case map[string]any, []any:
		return printable(write(value), maxShown)
	}
	return shown(value)
}

// shown returns a value of a text as it is written in a problem. It does not show
// objects and arrays, which may be large.
func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(cut(v, maxShown))
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case json.Number:
		return cut(v.String(), maxShown)
	}
	return fmt.Sprint(value)
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return cut(r.Num().String(), maxShown)
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// pointer returns a JSON pointer.
func pointer(names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteByte('/')
		_, _ = escaped.WriteString(&b, name)
	}
	return b.String()
}

var escaped = strings.NewReplacer("~", "~0", "/", "~1")

// printable returns the first n characters of a text, with control characters
// escaped.
func printable(text string, n int) string {
	quoted := strconv.Quote(cut(text, n))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// cut cuts a text to n characters and marks the cut.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i] + "…"
		}
		n--
	}
	return text
}
