package secrets

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Of gitleaks' 222 rules those that only hold in files of some name are left
// out, and Go takes the regexps of all others.
func TestGitleaks(t *testing.T) {
	var files, refused []string
	f := readGitleaks()
	for _, r := range f.Rules {
		switch _, err := regexp.Compile(r.Regex); {
		case r.Path != "":
			files = append(files, r.ID)
		case err != nil:
			refused = append(refused, r.ID)
		case len(r.Keywords) == 0:
			t.Errorf("%s has no keyword: it would be looked for in every text", r.ID)
		}
		for _, w := range r.Keywords {
			if len(w) < 2 {
				t.Errorf("%s has the keyword %q, which is nearly everywhere", r.ID, w)
			}
		}
	}
	if len(f.Rules) != 222 {
		t.Errorf("there are %d rules, not 222", len(f.Rules))
	}
	if want := []string{"freemius-secret-key", "hashicorp-tf-password", "kubernetes-secret-yaml", "nuget-config-password", "pkcs12-file"}; !slices.Equal(files, want) {
		t.Errorf("the rules of files are %v, not %v", files, want)
	}
	if len(refused) > 0 {
		t.Errorf("Go refuses %v", refused)
	}
}

func TestRules(t *testing.T) {
	names := Rules()
	// 222 - 5 of files, and 21 of ours, of which jwt, npm-access-token and
	// private-key take the places of gitleaks'.
	if len(names) != 222-5+21-3 {
		t.Errorf("there are %d rules", len(names))
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("they are not sorted, or a name is there twice: %v", names)
	}
	for _, r := range builtIn().rules {
		if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`).MatchString(r.label) || len(r.label) > maxKey-10 {
			t.Errorf("%s has the label %q", r.name, r.label)
		}
		if r.re != nil && r.group > r.re().NumSubexp() {
			t.Errorf("%s has no group %d", r.name, r.group)
		}
	}
}

func TestLabel(t *testing.T) {
	for name, want := range map[string]string{"openai-api-key": "openai-key", "aws-access-token": "aws-token", "github-pat": "github-pat", "generic-api-key": "generic-key"} {
		if got := label(name); got != want {
			t.Errorf("label(%s) = %s, not %s", name, got, want)
		}
	}
}

// Only the regexps of rules with a keyword in a text are compiled. It is counted
// in a process of its own, since regexps are compiled once.
func TestLazy(t *testing.T) {
	if os.Getenv("LAZY") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLazy$")
		cmd.Env = append(os.Environ(), "LAZY=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	r := redactor(t, Options{})
	for _, c := range []struct {
		text string
		want int64 // in all until then
	}{
		{"nothing", 0},
		{`{"content":"Good morning, 12 of 13."}`, 0},
		{"do" + "p_v1_x", 1},     // digitalocean-pat
		{"and do" + "p_v1_y", 1}, // it again
		{"adafruit", 2},          // adafruit-api-key
		{"postgres://host", 3},   // url-password
	} {
		r.Text(c.text)
		if got := compiled.Load(); got != c.want {
			t.Errorf("%q: %d regexps are compiled, not %d", c.text, got, c.want)
		}
	}
}

// Entropy is Shannon's: of n different letters log2 n bits.
func TestEntropy(t *testing.T) {
	for s, want := range map[string]float64{"": 0, "aaaa": 0, "abab": 1, "abcd": 2, "abcdefgh": 3, "aabc": 1.5} {
		if got := entropy(s); got != want {
			t.Errorf("entropy(%q) = %v, not %v", s, got, want)
		}
	}
}

// A rule's entropy, secretGroup, stop words and allowlists are heeded.
func TestConditions(t *testing.T) {
	key := random(31, 32, alnum)
	sonar := random(32, 40, alnum)
	for in, want := range map[string]string{
		"api_key=" + key:                             "api_key=[generic-key-1]",
		"api_key=" + strings.Repeat("ab1", 10):       "",
		"api_key=" + "EXAMPLE" + key:                 "", // "example" is a stop word of generic-api-key
		"api_key=" + random(33, 30, small):           "", // only letters
		"public_key=" + key:                          "", // of the match
		"sonar_token=" + "squ_" + sonar:              "sonar_token=[sonar-token-1]",
		"AK" + "IA" + "IOSFODNN7" + "EXAMPLE":        "", // aws-access-token allows what ends so
		"api_key=" + key[:20] + "falsefalse":         "", // the global allowlist
		"--mount=type=secret,id=token,token=" + key:  "", // of the line
		"password = " + key + ", user=x, password=y": "password = [generic-key-1], user=x, password=y",
	} {
		if want == "" {
			want = in
		}
		r := redactor(t, Options{Off: []string{"named"}}) // which looks at no value
		if got := r.Text(in); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}

func TestAutomaton(t *testing.T) {
	a := newAutomaton([]string{"he", "she", "his", "hers", "sk-"})
	var got []string
	a.scan("uSHErs SK-his", func(w int32, end int) bool {
		got = append(got, []string{"he", "she", "his", "hers", "sk-"}[w]+"@"+string('a'+rune(end)))
		return true
	})
	slices.Sort(got)
	// she and he end at 4 (e), hers at 6 (g), sk- at 10 (k), his at 13 (n).
	if want := []string{"he@e", "hers@g", "his@n", "she@e", "sk-@k"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNumbersOfPeople(t *testing.T) {
	for in, want := range map[string]string{
		"+1 415 555 " + "2671": "phone", "+14155552" + "671": "phone", "+1 (415) 555-" + "2671": "phone", "1-415-555-" + "2671": "phone", "415.555." + "2671": "phone",
		"+44 (0)20 7946 " + "0958": "phone", "+33 6 12 34 " + "56 78": "phone", "0049 30 1234" + "567": "phone", "030 1234" + "567": "phone", "(030) 123 45 " + "67": "phone",
		"0171-1234" + "567": "phone", "tel:+49-30-1234" + "567": "phone", "phone: 555 01 " + "99 12": "phone",
		"4111 1111 1111 " + "1111": "payment-card", "3782-822463-" + "10005": "payment-card", "3056 930902 " + "5904": "payment-card", "601111111111" + "1117": "payment-card", "42222222" + "22222": "payment-card",
		"4111 1111 1111 1112": "", "0.4111111111111111": "", "x4111111111111111": "", "1234567890123452": "", "4111-1111 1111 1111": "",
		"415 555 " + "2671": "phone", "06 12 34 " + "56 78": "phone", "06.12.34." + "56.78": "phone", "123-45-" + "6789": "social-security",
		// Other groups beside it, no area, no exchange, no trunk 0, and numbers that are not given out.
		"415 555 2671 12": "", "1000 415 555 2671": "", "200 404 4096": "", "415 155 2671": "", "12 34 56 78 90": "", "06 12 34 56 78 90": "",
		"000-12-3456": "", "666-12-3456": "", "912-12-3456": "", "123-00-4567": "", "123-45-0000": "", "123-45-6789-1": "",
		"4155552671": "", "+49": "", "+0 123 456 789": "", "phone 2026-11-28": "", "0123456789": "", "1-2-3-4-5-6-7-8": "",
	} {
		r := redactor(t, Options{})
		if got := r.Leftover(in); got != want {
			t.Errorf("%q: found by %q, not %q", in, got, want)
		}
		if want != "" && r.Text(in) != "["+map[string]string{"phone": "phone", "payment-card": "card", "social-security": "ssn"}[want]+"-1]" && !strings.HasPrefix(in, "tel") && !strings.HasPrefix(in, "phone") {
			t.Errorf("%q becomes %q", in, r.Text(in))
		}
	}
}
