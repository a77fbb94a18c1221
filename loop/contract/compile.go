package contract

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// resource is the URL of the schema. It is not the name of a file.
const resource = "https://contract.invalid/schema"

// compile compiles a schema. Checking a text calls step for the schema and each of
// its parts that the text is checked against.
func compile(doc any, step func()) (root *jsonschema.Schema, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some ids that it cannot resolve
			root, err = nil, fmt.Errorf("the schema cannot be compiled: %v", r)
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(refusing{})
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: resource + "/counted",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return counted(step), nil
		},
	})
	c.AssertVocabs()
	if err := c.AddResource(resource, doc); err != nil {
		return nil, err
	}
	root, err = c.Compile(resource)
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		return nil, fmt.Errorf("the schema is not valid: %s", describe(invalid.Err))
	}
	return root, err
}

// refusing is a loader that refuses to load anything.
type refusing struct{}

func (refusing) Load(string) (any, error) {
	return nil, errors.New("only references within the schema are followed; put what they refer to into $defs")
}

// counted is a keyword that every part of a schema gets, so that a check calls it
// at every part.
type counted func()

func (step counted) Validate(*jsonschema.ValidatorContext, any) { step() }
