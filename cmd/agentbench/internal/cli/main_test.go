package cli

import (
	"os"
	"testing"
)

// TestMain takes away what a CI says to its jobs: sessions of these tests are
// none.
func TestMain(m *testing.M) {
	for _, name := range []string{"GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}
