package cli

import (
	"runtime/debug"
	"testing"
)

// What a build records of its commit, by the ways to build.
func TestRevision(t *testing.T) {
	const commit = "410f1f7a1b2c3d4e5f60718293a4b5c6d7e8f901"
	for _, c := range []struct {
		name, version string
		settings      []debug.BuildSetting
		want          string
	}{
		{"go run", "(devel)", nil, ""},
		{"go build in a clean checkout", "v0.1.0", []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: "false"}}, "410f1f7a1b2c"},
		{"go build in a changed checkout", "(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: "true"}}, "410f1f7a1b2c+dirty"},
		{"go install of a release", "v0.1.0", nil, ""},
		{"go install of a commit", "v0.1.1-0.20261128120000-410f1f7a1b2c", nil, "410f1f7a1b2c"},
		{"go install of a commit before any release", "v0.0.0-20261128120000-410f1f7a1b2c", nil, "410f1f7a1b2c"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings}
		if got := revisionOf(info); got != c.want {
			t.Errorf("%s: the revision is %q, want %q", c.name, got, c.want)
		}
	}
}
