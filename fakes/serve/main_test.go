//go:build unix

package serve

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(serving); what != "" {
		serveForever(what)
		return
	}
	goleak.VerifyTestMain(m)
}
