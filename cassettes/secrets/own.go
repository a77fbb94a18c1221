package secrets

import "strings"

// own returns the rules that are not gitleaks'. They replace gitleaks' rules of the
// same name, and find more.
func own() []*rule {
	return []*rule{
		{name: "aws-secret-key", label: "aws-secret", entropy: 3.5, keywords: []string{"secret", "aws"}, re: lazily(
			`(?i)\b(?:aws|amazon|s3)?_?secret_?(?:access)?_?key["']?\s*(?:[:=]|=>)\s*["']?([a-z0-9/+]{40})(?:[^a-z0-9/+=]|$)`)},
		{name: "cut-off", label: "cut-key", digit: true, vague: true, keywords: prefixes, re: lazily(
			`(?i)(?:^|[^a-z0-9])((?:` + strings.Join(prefixes, "|") + `)[a-z0-9_./+=-]{4,})(?:…|\.{3})`)},
		{name: "authorization", label: "authorization", entropy: 2, vague: true, keywords: []string{"authorization"}, re: lazily(
			`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([a-z0-9._~+/=-]{8,})`)},
		{name: "bearer-token", label: "bearer", entropy: 2.5, digit: true, vague: true, keywords: []string{"bearer"}, re: lazily(
			`(?i)\bbearer\s+([a-z0-9._~+/=-]{12,})`)},
		{name: "email", label: "email", scan: emails},
		{name: encodedName, label: "base64", vague: true, scan: func(string, func(start, end int)) {}}, // see finder.encoded
		{name: "google-access-token", label: "google-token", entropy: 3, digit: true, keywords: []string{"ya29."}, re: lazily(`\b(ya29\.[A-Za-z0-9_-]{20,})`)},
		{name: "google-client-secret", label: "google-secret", entropy: 3, keywords: []string{"gocspx-"}, re: lazily(`\b(GOCSPX-[A-Za-z0-9_-]{20,})`)},
		{name: "iban", label: "iban", scan: ibans},
		{name: "jwt", label: "jwt", scan: jwts},
		{name: "model-key", label: "model-key", entropy: 3, digit: true, vague: true,
			keywords: []string{"sk-", "rk-", "gsk_", "xai-", "nvapi-", "r8_", "tgp_v1_", "fw_"}, re: lazily(
				`\b((?:sk|rk|csk)-[A-Za-z0-9][A-Za-z0-9_-]{18,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|nvapi-[A-Za-z0-9_-]{20,}|r8_[A-Za-z0-9]{20,}|tgp_v1_[A-Za-z0-9_-]{20,}|fw_[A-Za-z0-9]{20,})`)},
		{name: ByName, label: "secret", vague: true, scan: assigned},
		{name: "npm-access-token", label: "npm-token", entropy: 2, keywords: []string{"npm_"}, re: lazily(`\b(npm_[A-Za-z0-9]{30,})`)},
		{name: "payment-card", label: "card", scan: cards},
		{name: "phone", label: "phone", scan: phones},
		{name: "private-key", label: "private-key", keywords: []string{"private key"}, re: lazily(
			`(?i)-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]{0,900}?-----END[ A-Z0-9_-]{0,100}KEY(?: BLOCK)?-----|(?:(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{0,100}))*(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{1,15})?(?:(?:\s|\\[nr])*-----END[ A-Z0-9_-]{0,100}KEY(?: BLOCK)?-----)?)`)},
		{name: "social-security", label: "ssn", scan: socials},
		{name: "stripe-webhook", label: "stripe-webhook", entropy: 3, keywords: []string{"whsec_"}, re: lazily(`\b(whsec_[A-Za-z0-9+/=]{24,})`)},
		{name: "telegram-bot", label: "telegram-bot", entropy: 3, keywords: []string{":aa"}, re: lazily(
			`(?:^|[^A-Za-z0-9]|bot)([0-9]{6,12}:AA[A-Za-z0-9_-]{31,36})(?:[^A-Za-z0-9_-]|$)`)},
		{name: "url-password", label: "password", keywords: []string{"://"}, re: lazily(
			`(?i)\b[a-z][a-z0-9+.-]{1,20}://([^\s/:@"'<>?#]{0,200}:[^\s/@"'<>?#]{1,200})@`)},
		{name: "url-token", label: "token", keywords: urlKeywords, re: lazily(
			`(?i)[?&](?:` + strings.Join(urlNames, "|") + `)=([^&\s"'<>#]{8,})`)},
	}
}

// prefixes begin keys that are known by their length as well: one that is cut off
// (ghp_a1B2…) is known by its prefix alone.
var prefixes = []string{"sk-", "rk-", "sk_live_", "rk_live_", "sk_test_", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-", "akia", "asia",
	"aiza", "ya29.", "gocspx-", "npm_", "hf_", "gsk_", "xai-", "nvapi-", "whsec_", "eyj"}

// urlNames are the names of query parameters whose values are secret.
var urlNames = []string{"key", "api[_-]?key", "apikey", "access[_-]?token", "auth[_-]?token", "refresh[_-]?token", "id[_-]?token", "token", "auth",
	"sig", "signature", "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential",
	"client[_-]?secret", "secret", "password", "passwd", "pwd", "code[_-]?verifier", "session[_-]?id", "sas"}

var urlKeywords = []string{"key=", "token=", "auth=", "sig=", "signature=", "credential=", "secret=", "password=", "passwd=", "pwd=", "verifier=",
	"sessionid=", "session_id=", "session-id=", "sas="}

// Bounds of an e-mail address, by RFC 5321.
const (
	maxLocal  = 64
	maxDomain = 255

	beforeEmail = 256 // what is read before one
)

// emails finds e-mail addresses.
func emails(text string, found func(start, end int)) {
	last := 0 // no address begins before it
	for at := strings.IndexByte(text, '@'); at >= 0; {
		start := at
		if at > 0 && text[at-1] == '"' { // "ana lopez"@example.org
			start = max(last, at-maxLocal-1)
			if i := strings.LastIndexAny(text[start:at-1], "\"\r\n"); i >= 0 && text[start+i] == '"' {
				start += i
			} else {
				start = at
			}
		}
		for start > max(last, at-maxLocal) && text[start] != '"' && isLocal(text[start-1]) {
			start--
		}
		for start < at && (text[start] == '.' || text[start] == '-' || text[start] == '\'' || text[start] == '%') {
			start++
		}
		end := at + 1 + domain(text[at+1:min(len(text), at+1+maxDomain)])
		if start < at && end > at+1 && text[at-1] != '.' && text[start:at] != "git" && !isPassword(text[:start]) {
			found(start, end)
			last = end
		}
		next := strings.IndexByte(text[at+1:], '@')
		if next < 0 {
			return
		}
		at += 1 + next
	}
}

// isPassword reports whether what follows a text is the password in a URL
// (https://user:password@host), or the end of it.
func isPassword(before string) bool {
	before = before[max(0, len(before)-beforeEmail):]
	i := strings.LastIndex(before, "://")
	return i >= 0 && strings.Contains(before[i+3:], ":") && !strings.ContainsAny(before[i+3:], " \t\r\n/?#@\"'<>")
}

// domain returns the length of the domain that a text begins with: labels and
// dots, the last label of letters only; 0 = there is none.
func domain(s string) int {
	end, start, letters, labels := 0, 0, true, 0
	for i := 0; ; i++ {
		if i < len(s) && (isWord(s[i]) && s[i] != '_' || s[i] == '-' && i > start || s[i] >= 0x80) {
			letters = letters && (s[i] < '0' || s[i] > '9') && s[i] != '-'
			continue
		}
		if i == start {
			return end
		}
		if labels++; labels == 1 && isVersion(s[:i]) {
			return 0
		}
		if n := i - start; labels > 1 && letters && n >= 2 && n <= 24 {
			end = i
		}
		if i == len(s) || s[i] != '.' {
			return end
		}
		start, letters = i+1, true
	}
}

// isVersion reports whether a label is of module@v1.2.3 or icon@2x.png.
func isVersion(label string) bool {
	label = strings.TrimPrefix(label, "v")
	digits := strings.TrimLeft(label, "0123456789")
	return len(digits) < len(label) && (digits == "" || digits == "x")
}

// jwts finds JSON Web Tokens: three parts in base64, the first of which is a JSON
// object.
func jwts(text string, found func(start, end int)) {
	for at := 0; ; {
		i := strings.Index(text[at:], "eyJ")
		if i < 0 {
			return
		}
		start := at + i
		head := token(text, start)
		at = head
		if start > 0 && (isWord(text[start-1]) || text[start-1] == '-') || head-start < 10 || head == len(text) || text[head] != '.' {
			continue
		}
		body := token(text, head+1)
		if body-head <= 10 || body == len(text) || text[body] != '.' {
			continue
		}
		at = token(text, body+1)
		found(start, at)
	}
}

// token returns the end of the base64 (of URLs) that begins at i.
func token(text string, i int) int {
	for i < len(text) && (isWord(text[i]) || text[i] == '-') {
		i++
	}
	return i
}

// isLocal reports whether a byte is one of the local part of an address.
func isLocal(c byte) bool {
	return isWord(c) || c >= 0x80 || strings.IndexByte(".%+'-", c) >= 0
}

// isWord reports whether a byte is an ASCII letter, a digit or _.
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
