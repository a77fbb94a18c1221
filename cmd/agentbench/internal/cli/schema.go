package cli

import (
	"encoding/json"
	"slices"

	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// kinds of files that have a schema.
const (
	schemaScenario = "scenario"
	schemaVariant  = "variant"
	schemaProject  = "project"
)

func newSchema() *cobra.Command {
	kinds := []string{schemaScenario, schemaVariant, schemaProject}
	return &cobra.Command{
		Use:   "schema [scenario|variant|project]",
		Short: "Print the JSON Schema of a scenario, a variant or agentbench.yaml",
		Long: `Print the JSON Schema of a scenario (the default), of a variant's file, or of a
project's agentbench.yaml. Editors use it to complete and check these files. In many
editors this first line turns it on:

  # yaml-language-server: $schema=agentbench.schema.json

The files that agentbench init writes have such a line with the published schema.`,
		Example:   "  agentbench schema > agentbench.schema.json\n  agentbench schema variant > variant.schema.json",
		ValidArgs: kinds,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse(cmd.CommandPath()+" --help shows an example", "%s takes one kind of file, but was given %d arguments", cmd.CommandPath(), len(args))
			}
			for _, arg := range args {
				kind := schemaScenario
				if err := (choice[string]{&kind, kinds}).Set(arg); err != nil {
					return invalidValue("schema "+arg, err)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			schema := scenarios.Schema()
			switch {
			case slices.Contains(args, schemaVariant):
				schema = scenarios.VariantSchema()
			case slices.Contains(args, schemaProject):
				var err error
				if schema, err = projectSchema(cmd.Root()); err != nil {
					return err
				}
			}
			_, err := cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}

// projectSchema returns the JSON Schema of an agentbench.yaml: the flags of every
// command, and each command with its own.
func projectSchema(root *cobra.Command) ([]byte, error) {
	all := map[string]any{}
	for _, cmd := range root.Commands() {
		for key, value := range flagSchemas(cmd) {
			if all[key] == nil {
				all[key] = value
			}
		}
	}
	for _, cmd := range root.Commands() {
		own := flagSchemas(cmd)
		if len(own) == 0 {
			continue
		}
		flags := map[string]any{"type": []string{"object", "null"}, "description": cmd.Short, "properties": own, "additionalProperties": false}
		if flag := all[cmd.Name()]; flag != nil { // golden is a flag as well
			all[cmd.Name()] = map[string]any{"anyOf": []any{flag, flags}}
		} else {
			all[cmd.Name()] = flags
		}
	}
	doc, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://raw.githubusercontent.com/agentbench-go/agentbench/main/docs/" + projectSchemaFile,
		"title":   "The file agentbench.yaml of a project", "type": []string{"object", "null"}, "properties": all, "additionalProperties": false,
	}, "", "  ")
	return append(doc, '\n'), err
}

// projectSchemaFile is the name of the published schema, in the folder docs.
const projectSchemaFile = "agentbench.schema.json"

// flagSchemas returns the schema of each flag of a command that the project's file can
// set, by its key.
func flagSchemas(cmd *cobra.Command) map[string]any {
	out := map[string]any{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notInProject, f.Name) {
			out[key(f.Name)] = flagSchema(f)
		}
	})
	return out
}

func flagSchema(f *pflag.Flag) map[string]any {
	_, usage := pflag.UnquoteUsage(f)
	one := map[string]any{"type": []string{"string", "number", "boolean"}}
	switch v := f.Value.(type) {
	case interface{ names() []string }: // a choice
		one = map[string]any{"enum": v.names()}
	case *count, *jobs, *seed:
		one = map[string]any{"type": "integer", "minimum": 0}
	default:
		if v.Type() == "bool" {
			one = map[string]any{"type": "boolean"}
		}
	}
	if !takesMany(f) {
		one["description"] = usage
		return one
	}
	return map[string]any{"description": usage, "anyOf": []any{one, map[string]any{"type": "array", "items": one}}}
}
