package endpoint

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios"
)

func TestCost(t *testing.T) {
	gpt4o := Price{In: 2_500_000_000, Out: 10_000_000_000} // $2.50 and $10 a million: 2,500 and 10,000 nano-dollars a token
	for _, test := range []struct {
		name    string
		price   Price
		in, out int64
		want    int64
	}{
		{"nothing", gpt4o, 0, 0, 0},
		{"one of each", gpt4o, 1, 1, 12_500},
		{"a reply", gpt4o, 812, 33, 812*2_500 + 33*10_000},
		{"half a nano-dollar is one", Price{In: 37_500_000}, 1, 0, 38}, // $0.0375 a million: 37.5
		{"two halves", Price{In: 37_500_000}, 2, 0, 75},
		{"below a half is none", Price{In: 1}, 499_999, 0, 0}, // 0.499999
		{"above is one", Price{In: 1}, 500_000, 0, 1},
		{"0.1 + 0.2 is exact", Price{In: 100_000_000, Out: 200_000_000}, 1_000_000, 1_000_000, 300_000_000},
		{"less than nothing", gpt4o, -5, 1, 10_000},
		{"more than can be told", Price{In: math.MaxInt64, Out: math.MaxInt64}, math.MaxInt64, math.MaxInt64, math.MaxInt64},
	} {
		if got := test.price.Cost(test.in, test.out); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestFind(t *testing.T) {
	prices := Prices{"gpt-5": {In: 1}, "gpt-5-mini": {In: 2}, "gpt-5.1": {In: 3}, "llama": {In: 4}}
	for model, want := range map[string]int64{
		"gpt-5": 1, "gpt-5-2025-08-07": 1, "gpt-5-mini": 2, "gpt-5-mini-2025-08-07": 2, "gpt-5-min": 1, "gpt-5.1": 3, "gpt-5.1-codex": 3,
		"gpt-5.10": 0, "gpt-5.2": 0, "gpt-50": 0, "gpt-5é": 0, "gpt": 0, "": 0, "GPT-5": 0, "openai/gpt-5": 0, "llama:8b": 4, "llama@x": 4,
	} {
		price, known := prices.Find(model)
		if price.In != want || known != (want > 0) {
			t.Errorf("Find(%q) = %d, %t, want %d", model, price.In, known, want)
		}
	}
	if _, known := Prices(nil).Find("gpt-5"); known {
		t.Error("no prices know a model")
	}
}

func TestDefaultPrices(t *testing.T) {
	prices := DefaultPrices()
	if got, known := prices.Find("gpt-4.1-mini-2025-04-14"); !known || got != (Price{400_000_000, 1_600_000_000}) {
		t.Errorf("gpt-4.1-mini costs %v", got)
	}
	for name, p := range prices {
		if p.In <= 0 || p.Out <= p.In {
			t.Errorf("%s: %v cannot be right: what is written costs more than what is read", name, p)
		}
	}
	prices["gpt-4.1-mini"] = Price{}
	if got, _ := DefaultPrices().Find("gpt-4.1-mini"); got == (Price{}) {
		t.Error("two callers share their prices")
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadPrices(t *testing.T) {
	prices, err := ReadPrices(write(t, "# ours\ngpt-4.1: {in: 1, out: 2.5}\nllama3:8b:\n  in: 0\n  out: 0.000000001\n2: {in: 3, out: 4}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]Price{
		"gpt-4.1":   {1_000_000_000, 2_500_000_000},
		"llama3:8b": {0, 1},
		"2":         {3_000_000_000, 4_000_000_000},
		"o3":        {2_000_000_000, 8_000_000_000}, // a default one
	} {
		if got, known := prices.Find(model); got != want || !known {
			t.Errorf("%s costs %v, want %v", model, got, want)
		}
	}
	if _, err := ReadPrices(write(t, "# nothing\n")); err != nil {
		t.Errorf("a file without prices changes nothing, but: %v", err)
	}
}

// All mistakes are reported at once, with line and column.
func TestReadPricesMistakes(t *testing.T) {
	number := "a price must be a number from 0 to 999999, not "
	for text, want := range map[string][]string{
		"m: {in: 1, out: 2, cached: 3}":          {":1:20: unknown key \"cached\""},
		"m: {in: 1}":                             {":1:1: out is missing"},
		"a: {in: x, out: 1}\nb: {in: 1, out: y}": {":1:9: " + number + `"x"`, ":2:17: " + number + `"y"`},
		"m: {in: -1, out: 2}":                    {":1:9: " + number},
		"m: {in: 1e3, out: 2}":                   {":1:9: " + number + `"1e3"`},
		"m: {in: .inf, out: 2}":                  {":1:9: " + number},
		"m: {in: 0x10, out: 2}":                  {":1:9: " + number},
		"m: {in: 1000000, out: 2}":               {":1:9: " + number},
		"m: {in: 0.1234567891, out: 2}":          {":1:9: " + number},
		"m: {in: $2, out: 2}":                    {":1:9: " + number + `"$2"`},
		"m: {in: 1, in: 2, out: 3}":              {`:1:12: "in" is set twice`},
		"m: {in: 1, out: 2}\nm: {in: 1, out: 2}": {`:2:1: "m" is set twice`},
		"m: 3":                                   {":1:4: this must be a mapping"},
		"m:":                                     {": this must be a mapping"},
		"- m":                                    {":1:1: this must be a mapping"},
		"m: &a {in: 1, out: 2}\nn: *a":           {":1:4: this must be a mapping", ":2:4: this must be a mapping"},
		"<<: {in: 1, out: 2}":                    {":1:1: this cannot be a key"},
		"m: {in: 1, out: 2}\n---\nn: 1":          {":3:2: a second document begins here"},
		"m: {in: 1":                              {":1:"},
		"\"\": {in: 1, out: 2}":                  {":1:1: the name of a model must have 1 to 256 bytes"},
		"a\x00b":                                 {": is not a text file"},
		"\xff":                                   {": is not a text file"},
		strings.Repeat("#", 16<<10+1):            {": is larger than 16384 bytes"},
	} {
		_, err := ReadPrices(write(t, text))
		var mistakes scenarios.Mistakes
		if !errors.As(err, &mistakes) || len(mistakes) != len(want) {
			t.Errorf("%.40q: %v is not %d mistakes", text, err, len(want))
			continue
		}
		for i, m := range mistakes {
			if !strings.Contains(m.Error(), want[i]) {
				t.Errorf("%.40q: %v\nwant %s", text, m, want[i])
			}
		}
	}
	if _, err := ReadPrices(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "none.yaml: there is no such file") {
		t.Errorf("%v", err)
	}
	if _, err := ReadPrices(t.TempDir()); err == nil || !strings.HasSuffix(err.Error(), ": is not a regular file") {
		t.Errorf("%v", err)
	}
}

// No text makes the reader panic, and none takes long: the depth that the parser
// is slow with does not fit into the file.
func FuzzPrices(f *testing.F) {
	f.Add("m: {in: 1, out: 2}")
	f.Add("? [a]\n: {b: *c}\n--- !!binary x")
	f.Fuzz(func(t *testing.T, text string) {
		prices, err := parsePrices("f", text)
		if (prices == nil) == (err == nil) {
			t.Errorf("both or neither of %v and %v", prices, err)
		}
	})
}
