package trajectories

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v2"
)

func isYAML(file string) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml":
		return true
	}
	return false
}

// readYAML decodes an untrusted document into the types that encoding/json uses.
// Tags of types outside YAML are ignored. The limits of size and depth are those
// of a record, and an alias counts each time it is used.
func readYAML(data []byte) (doc any, err error) {
	if len(data) > maxRecord {
		return nil, fmt.Errorf("larger than %d MiB", maxRecord>>20)
	}
	defer func() {
		if recover() != nil { // the parser panics on some documents
			doc, err = nil, errors.New("invalid YAML")
		}
	}()
	if err := yaml.Unmarshal(bytes.ToValidUTF8(data, []byte("\ufffd")), &doc); err != nil {
		return nil, fmt.Errorf("invalid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	left := maxRecord
	return asJSON(doc, maxDepth, &left)
}

// asJSON converts the maps in a value to JSON objects. left is how many bytes the
// value may still have.
func asJSON(value any, depth int, left *int) (any, error) {
	if *left -= 8; *left < 0 {
		return nil, fmt.Errorf("larger than %d MiB, with its aliases", maxRecord>>20)
	}
	if depth == 0 {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch v := value.(type) {
	case string:
		*left -= len(v)
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			var err error
			if list[i], err = asJSON(one, depth-1, left); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[any]any:
		object := make(map[string]any, len(v))
		for k, one := range v {
			key := fmt.Sprint(k)
			*left -= len(key)
			var err error
			if object[key], err = asJSON(one, depth-1, left); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return value, nil
}
