package detect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestCanonicalForm(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"nothing", "", `{}`},
		{"white space alone", " \n\t\r", `{}`},
		{"empty", " { } ", `{}`},
		{"white space", "{ \"b\" :\t[ 1 , true ,\r\nfalse, null ] , \"a\" : { } }", `{"a":{},"b":[1,true,false,null]}`},
		{"nested objects sort too", `{"x":{"c":1,"b":{"z":1,"y":2},"a":3}}`, `{"x":{"a":3,"b":{"y":2,"z":1},"c":1}}`},
		{"order of a list stays", `{"a":[3,1,2,{"d":1,"c":2}]}`, `{"a":[3,1,2,{"c":2,"d":1}]}`},
		{"a prefix comes first", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{"keys are compared unescaped", `{"\\":1,"a":2,"\"":3,"\n":4,"\u0000":5,"]":6}`, `{"\u0000":5,"\n":4,"\"":3,"\\":1,"]":6,"a":2}`},
		// U+FF5E is the unit ff5e, U+1F600 the units d83d de00; in UTF-8 it is
		// the other way round.
		{"order of UTF-16", `{"～":1,"😀":2}`, `{"😀":2,"～":1}`},
		// d83d alone is a prefix of d83d de00; d83d e000 comes behind it.
		{"order of half pairs", `{"\ud83d\ue000":3,"😀":2,"\ud83d":1}`, "{\"\\ud83d\":1,\"😀\":2,\"\\ud83d\ue000\":3}"},

		{"escapes that are none", `{"\u0061\/\u00e9":"\u4e16\u754c\ud83d\ude00\u007f"}`, "{\"a/é\":\"世界😀\x7f\"}"},
		{"escapes that stay", `{"a":"\"\\\b\f\n\r\t\u0000\u001F"}`, `{"a":"\"\\\b\f\n\r\t\u0000\u001f"}`},
		{"long escapes of short ones", `{"a":"\u0022\u005C\u0008\u000c\u000A\u000d\u0009"}`, `{"a":"\"\\\b\f\n\r\t"}`},
		{"not escaped for HTML or JavaScript", `{"a":"<&>\u2028"}`, "{\"a\":\"<&>\u2028\"}"},
		{"half pairs", `{"a":"\uD800x\udfff\ud83d\u0041\ude00\ud83d"}`, `{"a":"\ud800x\udfff\ud83dA\ude00\ud83d"}`},
		{"bytes that are no UTF-8", "{\"a\":\"\xff\xc3\\u00a9\xed\xa0\x80\"}", "{\"a\":\"\xff\xc3\u00a9\xed\xa0\x80\"}"},
		{"keys that are no UTF-8", "{\"\xff\":1,\"\xfe\":2}", "{\"\xfe\":2,\"\xff\":1}"},

		{"one", `{"a":[1,1.0,1e0,10e-1,1.000,0.1E+1,1E00]}`, `{"a":[1,1,1,1,1,1,1]}`},
		{"nought", `{"a":[0,-0,0.0,-0.00e7,0e999999999999999999999]}`, `{"a":[0,0,0,0,0]}`},
		{"powers of ten", `{"a":[100,1e2,-0.5,0.00500,-120.50]}`, `{"a":[1e2,1e2,-5e-1,5e-3,-1205e-1]}`},
		{"an integer beyond 64 bits", `{"a":123456789012345678901234567891}`, `{"a":123456789012345678901234567891}`},
		{"a fraction beyond float64", `{"a":0.1000000000000000055511151231257827}`, `{"a":1000000000000000055511151231257827e-34}`},
		{"a huge exponent", `{"a":[1e999999999,10e999999998,0.1e1000000000]}`, `{"a":[1e999999999,1e999999999,1e999999999]}`},
		{"a tiny number", `{"a":[1e-999999999,0.01e-999999997]}`, `{"a":[1e-999999999,1e-999999999]}`},
		{"an exponent with noughts in front", `{"a":1e000000000000000000000000000007}`, `{"a":1e7}`},
		{"an exponent beyond 64 bits", `{"a":[1e99999999999999999999,10e99999999999999999998,10e99999999999999999999,0.1e100000000000000000000]}`,
			`{"a":[1e99999999999999999999,1e99999999999999999999,1e100000000000000000000,1e99999999999999999999]}`},
		{"the longest in 64 bits, and longer", `{"a":[10e999999999999999999,1e9999999999999999999]}`, `{"a":[1e1000000000000000000,1e9999999999999999999]}`},
		{"a negative one", `{"a":[1e-99999999999999999999,0.1e-99999999999999999999,10e-100000000000000000000,10e-1000000000000000000]}`,
			`{"a":[1e-99999999999999999999,1e-100000000000000000000,1e-99999999999999999999,1e-999999999999999999]}`},
	}
	var c Canon
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.Object(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("object(%q)\n got %q\nwant %q", tt.src, got, tt.want)
			}
		})
	}
}

func TestCanonicalErrors(t *testing.T) {
	tests := []struct {
		src    string
		offset int
		want   string
	}{
		{`[1]`, 0, "not a JSON object"},
		{`  "a"`, 2, "not a JSON object"},
		{`path=a`, 0, "not a JSON object"},
		{"\ufeff{}", 0, "not a JSON object"},
		{`{`, 1, "unexpected end at position 1"},
		{`{"path": "no`, 12, "unexpected end at position 12"},
		{`{"path": "no\`, 13, "unexpected end at position 13"},
		{`{"path"`, 7, "unexpected end at position 7"},
		{`{"path":`, 8, "unexpected end at position 8"},
		{`{"path": 1`, 10, "unexpected end at position 10"},
		{`{"path": 1,`, 11, "unexpected end at position 11"},
		{`{"path": [1, `, 13, "unexpected end at position 13"},
		{`{"path": tru`, 12, "unexpected end at position 12"},
		{`{"path": -`, 10, "unexpected end at position 10"},
		{`{"path": "\u00`, 14, "unexpected end at position 14"},
		{`{"some path long" x`, 18, "invalid character 'x' after object key at position 18"},
		{`{path: 1}`, 1, "invalid character 'p' where a key should begin at position 1"},
		{`{"a":1,}`, 7, "invalid character '}' where a key should begin at position 7"},
		{`{"a":1 "b":2}`, 7, "invalid character '\"' after a value in an object at position 7"},
		{`{"a":[1 2]}`, 8, "invalid character '2' after a value in an array at position 8"},
		{`{"a":[1,]}`, 8, "invalid character ']' at the beginning of a value at position 8"},
		{`{"a":'b'}`, 5, `invalid character '\'' at the beginning of a value at position 5`},
		{`{"a":+1}`, 5, "invalid character '+' at the beginning of a value at position 5"},
		{`{"a":.5}`, 5, "invalid character '.' at the beginning of a value at position 5"},
		{`{"a":01}`, 6, "invalid character '1' after a value in an object at position 6"},
		{`{"a":1.}`, 7, "invalid character '}' in a number at position 7"},
		{`{"a":1e+}`, 8, "invalid character '}' in a number at position 8"},
		{`{"a":-x}`, 6, "invalid character 'x' in a number at position 6"},
		{`{"a":nul}`, 8, "invalid character '}' in the word null at position 8"},
		{`{"a":True}`, 5, "invalid character 'T' at the beginning of a value at position 5"},
		{"{\"a\":\"b\nc\"}", 7, `invalid character '\n' in a string at position 7`},
		{`{"a":"\x"}`, 7, "invalid character 'x' after a backslash at position 7"},
		{`{"a":"\u00g0"}`, 10, `invalid character 'g' in a \u escape at position 10`},
		{`{"a":"\ud800\uZ"}`, 14, `invalid character 'Z' in a \u escape at position 14`},
		{`{} {}`, 3, "invalid character '{' after the object at position 3"},
		{"{}\x00", 2, `invalid character '\x00' after the object at position 2`},
		{"{\u00a0}", 1, `invalid character '\u00a0' where a key should begin at position 1`},
		{`{"a": 1, "a": 2}`, 9, `key "a" appears twice at position 9`},
		{`{"b":1,"a":2,"c":3,"\u0062":4}`, 19, `key "b" appears twice at position 19`},
		{`{"x":[{"é":1,"\u00e9":2}]}`, 14, `key "é" appears twice at position 14`},
		{`{"` + strings.Repeat("k", 41) + `":1,"` + strings.Repeat("k", 41) + `":2}`, 47,
			`key "` + strings.Repeat("k", 40) + `" appears twice at position 47`},
		{nestedJSON(1001), len(`{"a":`) + 999, "nested deeper than 1000 levels"},
	}
	var c Canon
	for _, tt := range tests {
		_, err := c.Object(tt.src)
		var at *ArgsError
		if !errors.As(err, &at) {
			t.Errorf("object(%.60q): got error %v, want %s", tt.src, err, tt.want)
			continue
		}
		if at.Error() != tt.want || at.offset != tt.offset {
			t.Errorf("object(%.60q)\n got %q, offset %d\nwant %q, offset %d", tt.src, at, at.offset, tt.want, tt.offset)
		}
	}
}

// nestedJSON is an object in which arrays make up that many levels.
func nestedJSON(levels int) string {
	return `{"a":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}"
}

func TestCanonicalDepth(t *testing.T) {
	var c Canon
	got, err := c.Object(nestedJSON(1000))
	if err != nil || string(got) != nestedJSON(1000) {
		t.Errorf("1000 levels: got %d bytes and error %v, want the text as it is", len(got), err)
	}
	flat := `{"a":[` + strings.Repeat(`[{}],`, 2000) + `0]}`
	if _, err := c.Object(flat); err != nil {
		t.Errorf("2000 neighbours, 4 levels: %v", err)
	}
}

// An object with its keys upside down comes out sorted: 5000 keys k0000 … k4999.
func TestCanonicalSortsManyKeys(t *testing.T) {
	var up, down []string
	for i := range 5000 {
		up = append(up, fmt.Sprintf(`"k%04d":[%d]`, i, 10*i+1))
	}
	down = slices.Clone(up)
	slices.Reverse(down)
	var c Canon
	got, err := c.Object("{" + strings.Join(down, ", ") + "}")
	if want := "{" + strings.Join(up, ",") + "}"; err != nil || string(got) != want {
		t.Errorf("got %.60s…, %v; want %.60s…", got, err, want)
	}
}

// The canonical form is reusable after every sort of end, also a bad one.
func TestCanonicalReuse(t *testing.T) {
	var c Canon
	for _, src := range []string{`{"b":{"a":[{"c":1`, `{"z":1,"z":2}`, nestedJSON(1001), `[`, `{"a":"\u`} {
		if _, err := c.Object(src); err == nil {
			t.Fatalf("object(%.40s): no error", src)
		}
		got, err := c.Object(`{"b":{"d":1,"c":2},"a":3}`)
		if want := `{"a":3,"b":{"c":2,"d":1}}`; err != nil || string(got) != want {
			t.Errorf("after %.40s: got %s, %v; want %s", src, got, err, want)
		}
	}
}

func TestSignature(t *testing.T) {
	var c Canon
	sign := func(name, args string) Signature {
		s, _ := c.Signature(name, args)
		return s
	}
	same := [][2][2]string{
		{{"f", ""}, {"f", "{}"}},
		{{"f", `{"a":1,"b":"x"}`}, {"f", ` { "b" : "\u0078", "a" : 1.0 } `}},
		{{"f", `{"a":`}, {"f", `{"a":`}},
	}
	for _, pair := range same {
		if sign(pair[0][0], pair[0][1]) != sign(pair[1][0], pair[1][1]) {
			t.Errorf("%q and %q are one call, but differ", pair[0], pair[1])
		}
	}
	calls := [][2]string{
		{"f", `{}`}, {"g", `{}`}, {"", `{}`}, {"f{}", ``}, {"f\x00", `{}`}, {"f", `{"a":1}`}, {"f", `{"a":"1"}`},
		{"f", `[]`}, {"f", `[ ]`}, {"f", `{"a":1`}, {"f", `{"a":1 `}, {"f", `{"a":1,"a":1}`}, {"f{", `}`}, {"", `f{}`},
		{"f", "{\"a\":\"\xff\"}"}, {"f", "{\"a\":\"\xfe\"}"}, {"f", `{"a":"\ufffd"}`}, {"f", `{"a":"\ud800"}`}, {"f", `{"a":"\ud801"}`},
		{"f", `{"a":1e999999999}`}, {"f", `{"a":1e999999998}`}, {"f", `{"a":9007199254740993}`}, {"f", `{"a":9007199254740992}`},
	}
	seen := map[Signature][2]string{}
	for _, call := range calls {
		s := sign(call[0], call[1])
		if other, ok := seen[s]; ok {
			t.Errorf("%q and %q have one signature", call, other)
		}
		seen[s] = call
	}

	// By sha256sum: j or r, the length of the name, the name, the arguments.
	for args, want := range map[string]string{
		"":  "daf6880d4f7a644748a8c9036103339546597a8007ae7abd91b9fed17b5e6be1", // 6a 01 66 7b 7d
		"{": "184b89fa65c456bea877134114aee4774e2c8010eeeb2969fe434364b1269f9d", // 72 01 66 7b
	} {
		if got := fmt.Sprintf("%x", sign("f", args)); got != want {
			t.Errorf("signature of f with %q: got %s, want %s", args, got, want)
		}
	}
	if _, err := c.Signature("f", `{"a": x}`); err == nil || err.Error() != "invalid character 'x' at the beginning of a value at position 6" {
		t.Errorf("signature of broken arguments: got error %v", err)
	}
}

// hundred is a flat object of 100 bytes.
const hundred = `{"path":"src/app/main.go","line":1234,"recursive":true,"pattern":"func Main\\(","note":"first line"}`

func TestCanonicalAllocatesNothing(t *testing.T) {
	if len(hundred) != 100 {
		t.Fatalf("hundred has %d bytes", len(hundred))
	}
	var c Canon
	for name, f := range map[string]func(){
		"object":    func() { _, _ = c.Object(hundred) },
		"signature": func() { _, _ = c.Signature("read_file", hundred) },
		"wide keys": func() { _, _ = c.Object(`{"～":1,"😀":"\u00e9","a":100}`) },
	} {
		if got := testing.AllocsPerRun(100, f); got != 0 {
			t.Errorf("%s: %v allocations, want 0", name, got)
		}
	}
}

// The oracle: the canonical form of a valid object by the standard library,
// value by value. It knows numbers as fractions, so exponents must be short.
// exact is false where the decoder has lost something: then only whether there
// is a form can be compared.
func oracle(src string) (form string, exact, ok bool) {
	if strings.Trim(src, " \n\t\r") == "" {
		return "{}", true, true
	}
	if !json.Valid([]byte(src)) || !strings.HasPrefix(strings.Trim(src, " \n\t\r"), "{") {
		return "", true, false
	}
	d := json.NewDecoder(strings.NewReader(src))
	d.UseNumber()
	o := oracleRun{decoder: d, exact: true, ok: true}
	form = o.value(0)
	return form, o.exact, o.ok
}

type oracleRun struct {
	decoder   *json.Decoder
	exact, ok bool
}

func (o *oracleRun) value(depth int) string {
	token, err := o.decoder.Token()
	if err != nil {
		panic(err) // json.Valid has seen it
	}
	switch v := token.(type) {
	case json.Delim:
		if depth == 1000 {
			o.ok = false
		}
		if v == '[' {
			return o.list(depth)
		}
		return o.object(depth)
	case string:
		return o.text(v)
	case json.Number:
		return o.number(string(v))
	}
	if token == nil {
		return "null"
	}
	return fmt.Sprint(token)
}

func (o *oracleRun) list(depth int) string {
	var parts []string
	for o.decoder.More() {
		parts = append(parts, o.value(depth+1))
	}
	_, _ = o.decoder.Token()
	return "[" + strings.Join(parts, ",") + "]"
}

func (o *oracleRun) object(depth int) string {
	values := map[string]string{}
	var keys []string
	for o.decoder.More() {
		token, _ := o.decoder.Token()
		key := token.(string)
		if _, twice := values[key]; twice {
			o.ok = false
		}
		keys = append(keys, key)
		o.text(key)
		values[key] = o.value(depth + 1)
	}
	_, _ = o.decoder.Token()
	slices.SortFunc(keys, func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	var parts []string
	for _, k := range keys {
		parts = append(parts, o.text(k)+":"+values[k])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (o *oracleRun) text(s string) string {
	if strings.ContainsRune(s, utf8.RuneError) {
		o.exact = false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSuffix(b.String(), "\n"))
}

func (o *oracleRun) number(s string) string {
	if _, exponent, ok := strings.Cut(strings.ToLower(s), "e"); ok {
		if n, err := strconv.Atoi(exponent); err != nil || n > 300 || n < -300 {
			o.exact = false
			return s
		}
	}
	value, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("no number: " + s)
	}
	if value.Sign() == 0 {
		return "0"
	}
	ten, power := big.NewRat(10, 1), 0
	for ; !value.IsInt(); power-- {
		value.Mul(value, ten)
	}
	whole := value.Num()
	for rest := new(big.Int); ; power++ {
		next, _ := new(big.Int).QuoRem(whole, big.NewInt(10), rest)
		if rest.Sign() != 0 {
			break
		}
		whole = next
	}
	if power == 0 {
		return whole.String()
	}
	return whole.String() + "e" + strconv.Itoa(power)
}

// checkCanonical compares with the oracle and looks at the form itself.
func checkCanonical(t *testing.T, src string) {
	t.Helper()
	want, exact, ok := oracle(src)
	var c Canon
	out, err := c.Object(src)
	got := string(out)
	if exact && (err == nil) != ok || err == nil && !ok && !strings.ContainsRune(want, utf8.RuneError) {
		t.Fatalf("object(%q): error %v, the oracle says %v", src, err, ok)
	}
	if err != nil {
		var at *ArgsError
		if !errors.As(err, &at) || at.offset < 0 || at.offset > len(src) {
			t.Fatalf("object(%q): no offset in %#v", src, err)
		}
		return
	}
	if exact && got != want {
		t.Fatalf("object(%q)\n got %s\nwant %s", src, got, want)
	}
	again, err := c.Object(got)
	if err != nil || string(again) != got {
		t.Fatalf("object(%q) = %q, and of that: %q, %v", src, got, again, err)
	}
	if meaning, _, _ := oracle(got); exact && meaning != want {
		t.Fatalf("object(%q) means %s, want %s", got, meaning, want)
	}
}

// A jsonMaker writes random values, each in two spellings of one meaning.
type jsonMaker struct{ rand *rand.Rand }

func (m jsonMaker) pick(from ...string) string { return from[m.rand.IntN(len(from))] }

func (m jsonMaker) space() string { return m.pick("", "", "", " ", "\n", "\t", "\r ") }

func (m jsonMaker) value(depth int) (a, b string) {
	kind := m.rand.IntN(8)
	if depth == 0 {
		kind = m.rand.IntN(5)
	}
	switch kind {
	case 0:
		a = m.pick("true", "false", "null")
		b = a
	case 1, 2:
		a, b = m.text(m.rand.IntN(6))
	case 3, 4:
		a, b = m.number()
	case 5:
		a, b = m.list(depth - 1)
	default:
		a, b = m.object(depth - 1)
	}
	return m.space() + a + m.space(), m.space() + b + m.space()
}

func (m jsonMaker) list(depth int) (a, b string) {
	var as, bs []string
	for range m.rand.IntN(4) {
		x, y := m.value(depth)
		as, bs = append(as, x), append(bs, y)
	}
	return "[" + strings.Join(as, ",") + "]", "[" + strings.Join(bs, ",") + "]"
}

func (m jsonMaker) object(depth int) (a, b string) {
	var as, bs []string
	seen := map[string]bool{}
	for range m.rand.IntN(6) {
		x, y := m.text(m.rand.IntN(3))
		var key string
		if _ = json.Unmarshal([]byte(x), &key); seen[key] {
			continue
		}
		seen[key] = true
		v, w := m.value(depth)
		as, bs = append(as, m.space()+x+m.space()+":"+v), append(bs, m.space()+y+m.space()+":"+w)
	}
	m.rand.Shuffle(len(bs), func(i, j int) { bs[i], bs[j] = bs[j], bs[i] })
	return "{" + strings.Join(as, ",") + "}", "{" + strings.Join(bs, ",") + "}"
}

func (m jsonMaker) text(n int) (a, b string) {
	spell := func(r rune) string {
		if r < ' ' || r == '"' || r == '\\' || m.rand.IntN(3) == 0 {
			var s string
			for _, unit := range utf16.Encode([]rune{r}) {
				s += fmt.Sprintf(m.pick(`\u%04x`, `\u%04X`), unit)
			}
			return s
		}
		return string(r)
	}
	for range n {
		r := []rune("ab/\"\\\n\x00\x1fé\u2028～￿😀\U0010ffff")[m.rand.IntN(14)]
		a, b = a+spell(r), b+spell(r)
	}
	return `"` + a + `"`, `"` + b + `"`
}

func (m jsonMaker) number() (a, b string) {
	digits, power := strconv.Itoa(m.rand.IntN(100000)), m.rand.IntN(20)-10
	spell := func() string {
		noughts := m.rand.IntN(3) // digits × 10^power = digits 00 . × 10^(power-2) …
		s, e := digits, power-noughts
		if digits != "0" {
			s += strings.Repeat("0", noughts)
		}
		if points := m.rand.IntN(3); points > 0 && len(s) > points { // 1234 = 12.34 × 10^2
			s, e = s[:len(s)-points]+"."+s[len(s)-points:], e+points
		}
		return s + m.pick("e", "E") + fmt.Sprintf(m.pick("%d", "%+d", "%+04d"), e)
	}
	sign := m.pick("", "-")
	return sign + spell(), sign + spell()
}

func TestCanonicalAgainstOracle(t *testing.T) {
	m := jsonMaker{rand.New(rand.NewPCG(1, 2))}
	var c Canon
	for range 3000 {
		a, b := m.object(4)
		checkCanonical(t, a)
		first, err := c.Object(a)
		if err != nil {
			t.Fatalf("object(%s): %v", a, err)
		}
		want := string(first)
		got, err := c.Object(b)
		if err != nil || string(got) != want {
			t.Fatalf("one meaning, two forms\n%s\n%s\n got %s, %v\nwant %s", a, b, got, err, want)
		}
		// One byte changed: whatever that means, the oracle must agree.
		broken := []byte(a)
		broken[m.rand.IntN(len(broken))] = m.pick("{", "}", "[", "]", ",", ":", `"`, "\\", "0", "1", "-", ".", "e", "u", " ", "\x00", "é")[0]
		checkCanonical(t, string(broken))
	}
}

func FuzzCanonical(f *testing.F) {
	for _, src := range []string{
		``, ` `, `{}`, hundred, `{"a":[1,1.0,1e0,10e-1,-0,100,0.00500]}`, `{"b":{"d":1,"c":2},"a":3}`, `{"a":1,"a":2}`,
		`{"\ud83d\ude00":"\ud800","～":"\u0061\/\n"}`, "{\"a\":\"\xff\xc3\",\"\xfe\":1}", `{"a":1e999999999,"b":1e-99999999999999999999}`,
		`{"a":tru`, `{"a":"b`, `{"a":"\u00`, `{"a":[[[[1]]]]}`, `[1]`, `{"a":01}`, `{} x`, nestedJSON(1001),
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 1<<16 {
			return // long texts only slow the search down
		}
		checkCanonical(t, src)
	})
}

func BenchmarkCanonical(b *testing.B) {
	unsorted := `{"path":"a.go","line":12}`
	code := `{"text":"` + strings.Repeat(`if err != nil {\n\t\treturn fmt.Errorf(\"open: %w\", err)\n}\n`, 700) + `"}`
	for _, bb := range []struct{ name, args string }{{"100B", hundred}, {"25B", unsorted}, {"40KB", code}} {
		var c Canon
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bb.args)))
			for b.Loop() {
				_, _ = c.Object(bb.args)
			}
		})
		b.Run(bb.name+"/signature", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.Signature("read_file", bb.args)
			}
		})
	}
}
