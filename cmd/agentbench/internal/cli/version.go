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

// Version is the version of the program, as `agentbench version` and the header
// of a results file say it. A release's tag is the same.
const Version = "0.1.0"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the commit it was built from",
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

// revision returns the commit that this binary was built from: 12 characters,
// then "+dirty" where the checkout had changes; "" where the build recorded
// none, as go run does.
var revision = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return revisionOf(info)
})

// pseudo is the end of a version that names a commit, which `go install` of a
// commit gives.
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

// headerOf returns the header of a results file of this program.
func headerOf(o *scenarios.Options) scenarios.Header {
	h := o.Header(Version)
	h.Revision = revision()
	return h
}

// noArguments refuses arguments that are not flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return misuse(cmd.CommandPath()+" --help shows an example", "%s takes no argument, but was given %q", cmd.CommandPath(), args[0])
}
