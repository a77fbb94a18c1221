package secrets

import (
	"net/url"
	"testing"
)

// harmless are texts without a secret, as models, tools and programs write them.
// The first of them have names that look like those of secrets.
func harmless() []string {
	hex := digits + "abcdef"
	return []string{
		`{"next_page":"/orders?page=2","page_token":"` + random(1, 24, alnum) + `"}`,
		`{"items":[],"next_token":"` + random(2, 32, alnum) + `"}`,
		`{"nextPageToken":"` + random(3, 40, alnum) + `","kind":"list"}`,
		`{"continuation_token":"` + random(4, 36, alnum) + `"}`,
		`next_token=` + random(5, 32, alnum) + ` and go on`,
		`{"max_tokens":4096,"stop":null}`,
		"max_tokens=4096 total_tokens=123456789012 temperature=0.7",
		`{"tokenizer":"cl100k-base-2023-v2x"}`,
		"tokenizer: sentencepiece-32k-v2b81",
		`{"secretary":"Ana-Lopez-4711-Berlin"}`,
		"secretary = R2D2C3PO-desk-4711",
		`{"idempotency_key":"` + random(6, 32, hex) + `"}`,
		"Idempotency-Key: 5f3e9b1c-77aa-4a1e-9d0c-0a1b2c3d4e5f",
		`{"file":"a.tar.gz","checksum":"` + random(7, 64, hex) + `"}`,
		"checksum: sha256:" + random(8, 64, hex),
		`{"type":"object","properties":{"password":{"type":"string"},"token":{"type":"string"}},"required":["password","token"]}`,
		"password: string, the password of the account",
		"The password must have 12 characters, one of them a digit.",
		"Error: invalid token at line 3, column 14",
		"token: string\nsecret: string\npin: integer",
		"const token = await session.refresh();\nif (!token) throw new Error('no token');",
		"password = getpass.getpass()\nclient = Client(user, password=password, token=self.token)",
		"func (c *Client) SetToken(token string) { c.token = token }",
		`if password == "" { return errEmpty }`,
		"export GITHUB_TOKEN=$(gh auth token)",
		"DB_PASSWORD=${DB_PASSWORD} docker compose up",
		"Authorization: required. Cookie: none.",
		"Authorization: Bearer <token>",
		"The cookie is set by the server. Cookie banners are a nuisance.",
		"PIN: see the letter. OTP: not needed.",
		"The secret of the sauce: butter. Token of thanks: a card.",
		"pinned: true, pins: 12, spinner=on, optional=1, potpie=2",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"550e8400-e29b-41d4-a716-446655440000",
		"2026-11-28T06:45:41.123456+01:00 INFO request took 1.204 s",
		"It costs $1,299.99, or 1.299,99 € or 1 299 000 yen.",
		"Order ORD-2024-000123 of 112-7654321-1234567, SKU 4006381333931",
		"Invoice 2024-11-0042 over 12 345 678 units",
		"| 12 | 200 | 4096 |\n| 13 | 404 | 8192 |",
		"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
		"01 02 03 04 05 06 07 08 09 10",
		"00 06 12 34 56 78 9a ff 10 22",
		"640 480 24, 800 600 32, 1024 768 24",
		"p50 200 300 4000 ms",
		"192.168.100.200:8080 and 2001:db8::8a2e:370:7334",
		"00:1b:44:11:3a:b7 is the MAC address",
		"/usr/lib/python3.12/site-packages/foo_bar/__init__.py:120:15",
		"require golang.org/x/net@v0.60.0; npm i @types/node@20.1.0",
		"git clone git@github.com:org/repo.git",
		"@@ -10,7 +10,8 @@ func main() {",
		"x = a[1] + 12345678 - b * 3.14159265358979",
		"sum = 415+555-2671, avg=a+b",
		"https://example.com/a/b?page=2&sort=asc&q=hello+world",
		"name=Ana+Lopez&city=Berlin&note=back+at+12+or+13&n=1",
		"data:image/png;base64," + random(9, 400, alnum+"+/") + "==",
		"call_" + random(10, 24, alnum) + " of chatcmpl-" + random(11, 29, alnum),
		"Content-Type: application/json\r\nRetry-After: 12\r\nETag: W/\"5f3-18b\"",
		"flight LH 1234 at 0930, seat 12A, gate 4, terminal 2",
		"lat 52.5200, lon 13.4050; -33.8688, 151.2093",
		"ISBN 978-3-16-148410-0, DOI 10.1000/182, RFC 9110",
		"DE is the country, GB12 a road and NO 47 a house; AB12CDEF34 is a plate",
		"Version 1.2.3-rc.1 build 20261128-064541, retries 3 of 5",
		"user: ana\nrole: admin\nquota: 12345678\nenabled: true",
		"Write to support at example dot org, or call the number on the card.",
	}
}

// Of harmless texts 3 % at most are changed, in the forms in which most is written.
func TestHarmless(t *testing.T) {
	texts := harmless()
	if len(texts) < 60 {
		t.Fatalf("there are %d texts", len(texts))
	}
	changed := 0
	for _, text := range texts {
		bad := false
		for _, in := range []string{text, `{"n":1,"text":` + quoted(text) + `}`, "user=ana&note=" + url.QueryEscape(text) + "&n=1"} {
			if out := redactor(t, Options{}).Text(in); out != in {
				t.Logf("%.200q\nbecomes %.200q", in, out)
				bad = true
			}
		}
		if bad {
			changed++
		}
	}
	t.Logf("%d of %d harmless texts are changed", changed, len(texts))
	if changed*100 > len(texts)*3 {
		t.Errorf("%d of %d harmless texts are changed", changed, len(texts))
	}
}
