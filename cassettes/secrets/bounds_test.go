package secrets

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Twice the text costs twice the work, whatever the text is. What is counted is
// the bytes that are looked at more than once and those that are allocated.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures megabytes of text")
	}
	open, name := "-----BEGIN PRIVATE "+"KEY-----", "a@"+"b.io"
	for kind, repeat := range map[string]string{
		"prose":        "The quick brown fox jumps over the lazy dog. ",
		"keywords":     "key ",
		"keys":         "api_key=abc" + "DEF123456xyz ",
		"addresses":    name + " ",
		"no addresses": "a@",
		"digits":       "1 ",
		"phones":       "+49 30 123" + "4567 ",
		"escapes":      `\n`,
		"backslashes":  `\`,
		"percents":     "%25",
		"heads":        "eyJabcdefghijk.",
		"placeholders": "[email-1",
		"urls":         "https://a:",
		"begins":       open,
		"commands":     "curl -u ",
		"base64":       random(1, 4096, alnum+"+/"),
		"encoded":      base64.RawStdEncoding.EncodeToString([]byte("nothing secret in here, I say ")),
		"forms":        "a+b%20c+",
		"pluses":       "a+",
		"names":        "token=(",
		"short names":  "pin=",
		"headers":      "cookie: authorization: ",
		"logprobs":     "logprob token=abc123 ",
		"accounts":     "DE00",
		"cut":          "sk-abcd1234",
		"events":       "data: {\"a\":\"b\",\"c\":[{\"index\":0,\"d\":\"" + name + " \"}]}\n\n",
		"lines":        "data: {\n",
	} {
		for _, wrap := range [][2]string{{"", ""}, {`{"a":"`, `"}`}, {`data: {"a":"`, "\"}\n\ndata: {\"a\":\"x\"}\n"}, {"data: " + strings.Repeat(`{"a":`, 100) + `"`, `"` + strings.Repeat("}", 100) + "\n"}} {
			if strings.ContainsAny(repeat, "\"\n\\") && wrap[0] != "" {
				continue
			}
			small := cost(t, wrap[0]+strings.Repeat(repeat, 1<<15/len(repeat))+wrap[1])
			large := cost(t, wrap[0]+strings.Repeat(repeat, 1<<16/len(repeat))+wrap[1])
			for range 3 { // a garbage collection in between empties the regexps' pools
				if large[1] <= small[1]*5/2+1<<20 {
					break
				}
				large = cost(t, wrap[0]+strings.Repeat(repeat, 1<<16/len(repeat))+wrap[1])
			}
			for i, what := range []string{"bytes looked at", "bytes allocated"} {
				if large[i] > small[i]*5/2+1<<20 { // regexps keep some memory from one use to the next
					t.Errorf("%s in %.12q: twice the text makes %d %s of %d", kind, wrap[0], large[i], what, small[i])
				}
			}
		}
	}
}

// So it is for what is nested in an event.
func TestBoundsOfDepth(t *testing.T) {
	deep := func(n int) string {
		return "data: " + strings.Repeat(`{"a":`, n) + `""` + strings.Repeat("}", n) + "\n\n"
	}
	if small, large := cost(t, deep(4000)), cost(t, deep(8000)); large[0] > small[0]*5/2 {
		t.Errorf("twice the depth makes %d bytes looked at of %d", large[0], small[0])
	}
}

// cost returns what it costs to redact a text.
func cost(t *testing.T, text string) [2]uint64 {
	t.Helper()
	r := redactor(t, Options{})
	var before, after runtime.MemStats
	seen := looked.Load()
	runtime.ReadMemStats(&before)
	r.Text(text)
	runtime.ReadMemStats(&after)
	return [2]uint64{uint64(looked.Load() - seen), after.TotalAlloc - before.TotalAlloc}
}

// Bodies of some MiB: of images, of a long history, and of a long stream.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	secret := "jane@mail." + "example.org"
	var history, stream strings.Builder
	history.WriteString(`{"messages":[`)
	for i := range 20_000 {
		fmt.Fprintf(&history, `{"role":"user","content":"The quick brown fox %d jumps over the lazy dog, and over \"%s\"."},`, i, secret)
		fmt.Fprintf(&stream, wires[0].event, fmt.Sprintf("word%d ", i))
	}
	fmt.Fprintf(&history, `{"role":"user","content":[{"image_url":{"url":"data:image/png;base64,%s"}}]}]}`, random(1, 2<<20, alnum+"+/"))
	for kind, in := range map[string]string{"history": history.String(), "stream": stream.String()} {
		c := cost(t, in)
		// A history is looked through twice: with the address and without.
		if most := uint64(8 * len(in)); c[0] > most || c[1] > 5*most {
			t.Errorf("%s of %d bytes: %d are looked at, and %d are allocated", kind, len(in), c[0], c[1])
		}
	}
}
