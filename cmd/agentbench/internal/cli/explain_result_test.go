package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// Every stop of the loop's own that the documentation lists has its words.
func TestStopWords(t *testing.T) {
	text, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), " Stops: ")
	list, _, _ = strings.Cut(list, "and the\nnames")
	stops := regexp.MustCompile(`[a-z]+(-[a-z]+)*`).FindAllString(list, -1)
	if len(stops) < 20 {
		t.Fatalf("only %d stops were found: %q", len(stops), stops)
	}
	for _, s := range stops {
		if stopWords[loop.Stop(s)] == "" {
			t.Errorf("there are no words for the stop %s", s)
		}
	}
}
