package cli

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// Version is the version of the program. `agentbench version` prints it, results
// files have it in their header, and the tag of a release is the same.
const Version = "0.1.0"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and the commit it was built from",
		Example: "  agentbench version",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return printVersion(cmd.OutOrStdout()) },
	}
}

func printVersion(w io.Writer) error {
	text := Version
	if r := revision(); r != "" {
		text += " (" + r + ")"
	}
	_, err := fmt.Fprintf(w, "agentbench %s %s %s/%s\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// revision returns the commit that this program was built from: 12 characters,
// then "+dirty" if the checkout had changes. It returns "" if the build recorded
// no commit, as with go run.
var revision = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return revisionOf(info)
})

// pseudo matches the end of a version that names a commit, as `go install` of a
// commit sets it.
var pseudo = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(\+dirty)?$`)

func revisionOf(info *debug.BuildInfo) string {
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if commit != "" {
		return commit + dirty
	}
	if m := pseudo.FindStringSubmatch(info.Main.Version); m != nil {
		return m[1] + m[2]
	}
	return ""
}

// headerOf returns the header of a results file for o, with this program's version
// and commit.
func headerOf(o *scenarios.Options) scenarios.Header {
	h := o.Header(Version)
	h.Revision = revision()
	return h
}

// noArguments returns an error if there is an argument.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return misuse(cmd.CommandPath()+" --help shows an example", "%s takes no argument, but was given %q", cmd.CommandPath(), args[0])
}
