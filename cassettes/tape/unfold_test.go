package tape

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dnaeon/go-vcr/v2/cassette"
	"gopkg.in/yaml.v2"
)

// oddTexts makes texts that YAML writes in each of its styles: many spaces and
// quotes, words of other types, control characters, separators, broken UTF-8.
func oddTexts(r *rand.Rand, separators bool) string {
	parts := []string{"word", "true", "12", "a long-ish word", " ", "  ", ": ", " #", "'", `"`, `\`, "{\"role\": \"user\"}", "- ", "\t", "\x01", "\u0085", "\u00a0", "é", "\U0001f600", "\xff", "\n", "\r", "null", "%", "&", "*", "!", "|", "---", "..."}
	if separators {
		parts = append(parts, "\u2028", "\u2029")
	}
	kinds := 1 + r.IntN(len(parts)) // few kinds: otherwise nearly all texts have a line break
	var b strings.Builder
	for range r.IntN(60) {
		b.WriteString(parts[r.IntN(kinds)])
	}
	return b.String()
}

// oddCassette makes a cassette of odd texts.
func oddCassette(seed uint64, separators bool) *cassette.Cassette {
	r := rand.New(rand.NewPCG(seed, 1))
	text := func() string { return oddTexts(r, separators) }
	c := cassette.New("")
	for range 3 {
		in := &cassette.Interaction{Request: cassette.Request{Body: text(), URL: text(), Method: "POST", Headers: http.Header{"B": {text(), text()}}},
			Response: cassette.Response{Body: text(), Status: text(), Code: 200}}
		if r.IntN(2) == 0 {
			in.Response.Headers = http.Header{"A": {text()}, "X-10": {text()}, "X-9": {text()}}
		}
		c.Interactions = append(c.Interactions, in)
	}
	return c
}

// A cassette has the bytes that yaml.v2 writes once it has been told, for the whole
// process, not to fold lines. It is told so in a process of its own here.
func TestUnfolded(t *testing.T) {
	const wanted = "AGENTBENCH_TEST_UNFOLDED"
	child := os.Getenv(wanted) != ""
	if child {
		yaml.FutureLineWrap()
	}
	var sums strings.Builder
	folded := 0
	for seed := range uint64(300) {
		c := oddCassette(seed, false)
		plain, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if child {
			fmt.Fprintf(&sums, "%d %x\n", seed, sha256.Sum256(plain))
			continue
		}
		text, err := unfolded(c.Interactions)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if string(text) != string(plain) {
			folded++
		}
		fmt.Fprintf(&sums, "%d %x\n", seed, sha256.Sum256(text))
	}
	if child {
		os.Stdout.WriteString(sums.String())
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestUnfolded$")
	cmd.Env = append(os.Environ(), wanted+"=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want, got := strings.Split(string(out), "\n"), strings.Split(sums.String(), "\n")
	for i := range got {
		if i >= len(want) || got[i] != want[i] {
			text, _ := unfolded(oddCassette(uint64(i), false).Interactions)
			t.Fatalf("seed %d is not what yaml.v2 writes without folds:\n%s", i, text)
		}
	}
	if folded < 150 {
		t.Errorf("only %d of 300 cassettes would have been folded: the test shows nothing", folded)
	}
}

// Every text reads back as it was. One with a line separator of Unicode may be folded.
func TestUnfoldedReadsBack(t *testing.T) {
	for seed := range uint64(300) {
		c := oddCassette(seed, true)
		text, err := unfolded(c.Interactions)
		if err != nil {
			t.Fatal(err)
		}
		var back cassette.Cassette
		if err := yaml.UnmarshalStrict(text, &back); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		for i, in := range c.Interactions {
			got := back.Interactions[i]
			if got.URL != in.URL || got.Request.Body != in.Request.Body || got.Response.Body != in.Response.Body || got.Status != in.Status ||
				fmt.Sprintf("%q", got.Response.Headers) != fmt.Sprintf("%q", in.Response.Headers) && len(in.Response.Headers) > 0 {
				t.Fatalf("seed %d, interaction %d:\n%+v\n%+v", seed, i, in, got)
			}
		}
	}
}
