package agenttest_test

import (
	"os"
	"strings"
	"testing"
)

// The examples are tests.
func TestExamples(t *testing.T) {
	t.Run("Stops", testStops)
	t.Run("Chat", testChat)
	t.Run("Loop", testLoop)
	t.Run("Refund", testRefund)
}

// The page shows the code of the examples, with the names that tests have.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/go-tests.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range []string{"example_http_test.go", "example_model_test.go", "example_trial_test.go"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(content)
	}
	examples := strings.NewReplacer("func testStops", "func TestStops", "func testChat", "func TestChat", "func testLoop", "func TestLoop", "func testRefund", "func TestRefund").Replace(code.String())
	n := 0
	for _, block := range strings.Split(string(page), "```go\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for part := range strings.SplitSeq(block, "\n…\n") {
			if n++; !strings.Contains(examples, strings.TrimSpace(part)) {
				t.Errorf("no example has\n%s", part)
			}
		}
	}
	if n < 3 {
		t.Errorf("the page has %d pieces of code", n)
	}
}
