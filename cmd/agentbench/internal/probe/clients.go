package probe

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

//go:embed clients/*.yaml
var clientFiles embed.FS

// A Client is an agent that many people use, and how it is started so that it asks the
// scripted model and calls the script's tools. It is data: a file in clients.
type Client struct {
	Name    string            `yaml:"-"`
	Checked string            `yaml:"checked"` // the version and the day when it was last tried
	Package string            `yaml:"package"` // of npm, with the version that was tried
	Version []string          `yaml:"version"` // the command that prints its version
	Command string            `yaml:"command"` // an example of its command
	Allowed string            `yaml:"allowed"` // what it is allowed to do without asking
	Files   map[string]string `yaml:"files"`   // its configuration, by path; names in braces are filled in
	Env     map[string]string `yaml:"env"`     // variables, likewise
}

// Clients returns the names of the clients, sorted.
func Clients() []string {
	entries, err := clientFiles.ReadDir("clients")
	if err != nil {
		panic(err) // it is embedded
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
	}
	slices.Sort(names)
	return names
}

// FindClient returns the client of a name.
func FindClient(name string) (*Client, error) {
	if !slices.Contains(Clients(), name) {
		return nil, fmt.Errorf("there is no client %q", name)
	}
	text, err := clientFiles.ReadFile("clients/" + name + ".yaml")
	if err != nil {
		return nil, err
	}
	c := &Client{Name: name}
	if err := yaml.UnmarshalWithOptions(text, c, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("clients/%s.yaml: %w", name, err)
	}
	return c, nil
}

// Apply gives an agent the configuration of the client, a new home and a new folder.
func (c *Client) Apply(a *Agent) {
	a.ScratchDir, a.ScratchHome = true, true
	for _, p := range slices.Sorted(maps.Keys(c.Files)) {
		a.Files = append(a.Files, File{Path: p, Content: c.Files[p]})
	}
	a.Set = c.Env
}

// versionTime bounds how long a client may take to print its version.
const versionTime = 20 * time.Second

// ReadVersion returns the client's version as it prints it in an empty home, "unknown" if
// it does not. program is how the agent's command names the client.
func (c *Client) ReadVersion(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, c.Version[1:]...)
	home, err := os.MkdirTemp("", "agentbench-probe-")
	if err != nil {
		return versionIn("")
	}
	defer removeAll(home)
	cmd.Env, _ = environment(os.Environ(), nil, variables(&place{home: home}))
	cmd.WaitDelay = time.Second
	out, _ := cmd.Output() // without a version it is unknown
	return versionIn(string(out))
}

var versionNumber = regexp.MustCompile(`\d+\.\d+`)

// versionIn returns the line that holds a version: the first with a number such as
// 1.2 and without colour, which log messages have.
func versionIn(out string) string {
	for line := range strings.Lines(out) {
		if versionNumber.MatchString(line) && !strings.Contains(line, "\x1b") {
			return strings.TrimSpace(line)
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return cmp.Or(strings.TrimSpace(first), "unknown")
}
