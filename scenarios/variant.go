package scenarios

import "github.com/agentbench-go/agentbench/loop"

// A Variant is one named safety config.
type Variant struct {
	Name   string // a preset's name, or the path of its file
	Config loop.Config
}

// DefaultVariant is the preset of scenarios that name none.
const DefaultVariant = "hpd-agent"

// LoadVariant gives the preset with that name, or reads the YAML file at that
// path: anything that holds a slash or ends in .yaml or .yml is a path. The
// error of an unknown name tells the nearest ones, that of a broken file is of
// type [Mistakes].
func LoadVariant(nameOrPath string) (Variant, error) { return Variant{}, nil }

// Presets lists the names of the presets, sorted.
func Presets() []string { return nil }

// PresetText gives the YAML of a preset, with the comment that says where its
// values come from; "" if there is none of that name.
func PresetText(name string) string { return "" }
