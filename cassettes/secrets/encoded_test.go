package secrets

import (
	"encoding/base64"
	"strings"
	"testing"
)

// Base64 whose text holds a secret is masked as a whole, in either alphabet, with
// padding and without; any other stays.
func TestEncoded(t *testing.T) {
	secret := `{"user":"ana?>","mail":"` + jane + `"}`
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		in := "data: " + e.EncodeToString([]byte(secret)) + " end"
		r := redactor(t, Options{})
		if got := r.Text(in); got != "data: [base64-1] end" || r.Leftover(got) != "" {
			t.Errorf("%s becomes %s", in, got)
		}
	}
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("Grüße an alle. ", 100)))
	twice := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(secret))))
	for _, in := range []string{
		long, twice, // which is not looked into
		"a picture: " + base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"+random(1, 100, alnum)+jane)),
		"/usr/lib/python3/dist-packages/anything/else/here",
		base64.StdEncoding.EncodeToString([]byte("nothing secret in here, I say")),
	} {
		if got := redactor(t, Options{}).Text(in); got != in {
			t.Errorf("%.100s becomes %.100s", in, got)
		}
	}
	if got := redactor(t, Options{Off: []string{"base64"}}).Text(long + " " + base64.StdEncoding.EncodeToString([]byte(secret))); strings.Contains(got, "[") {
		t.Errorf("turned off it finds %s", got)
	}
}

// Of a key that a message cuts off nothing is left.
func TestCutOff(t *testing.T) {
	key := "gh" + "p_" + random(3, 36, alnum)
	for _, in := range []string{"asked: " + key[:20] + "…", `asked: {"key":"` + key[:12] + `...`, "asked: " + key[:30] + "… (10 more)"} {
		if got := redactor(t, Options{}).Text(in); strings.Contains(got, key[4:10]) {
			t.Errorf("%s becomes %s", in, got)
		}
	}
	for _, in := range []string{"see the task-1234567…", "hf_models…", "risk-averse 2024...", "npm_config_cache…"} {
		if got := redactor(t, Options{}).Text(in); got != in {
			t.Errorf("%s becomes %s", in, got)
		}
	}
}
