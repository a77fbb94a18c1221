package trajectories

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/text"
)

// goVCR is a cassette of go-vcr, file version 1 or 2.
var goVCR = format{
	name:    "go-vcr",
	looks:   "a YAML file with version and interactions, whose requests have a url",
	ends:    []string{".yaml", ".yml"},
	fits:    func(keys map[string]json.RawMessage) bool { return isCassette(keys) && firstRequestHas(keys, "url") },
	text:    func(data []byte) bool { return isCassetteYAML(data) && !hasURI.Match(data) },
	traffic: readCassette,
}

// vcrPy is a cassette of vcrpy, YAML or JSON. In older files it is an array of
// interactions, or the answer is in content.
var vcrPy = format{
	name:  "vcrpy",
	looks: "a YAML or JSON file with interactions, whose requests have a uri",
	ends:  []string{".yaml", ".yml"},
	fits: func(keys map[string]json.RawMessage) bool {
		return isCassette(keys) || wire.IsObject(keys["request"]) && wire.IsObject(keys["response"])
	},
	text:    func(data []byte) bool { return isCassetteYAML(data) && hasURI.Match(data) },
	traffic: readCassette,
}

var (
	// Comments and the marker of a document may come first.
	cassetteHead = regexp.MustCompile(`\A(?:[ \t]*(?:#[^\n]*)?\r?\n|---[^\n]*\n|%YAML[^\n]*\n)*(?:version|interactions)[ \t]*:`)
	hasURI       = regexp.MustCompile(`(?m)^(?:- )?[ \t]+uri:`)
)

func isCassetteYAML(data []byte) bool { return cassetteHead.Match(data) }

func isCassette(keys map[string]json.RawMessage) bool { return wire.IsArray(keys["interactions"]) }

func firstRequestHas(keys map[string]json.RawMessage, key string) bool {
	var first []struct{ Request map[string]json.RawMessage }
	return json.Unmarshal(keys["interactions"], &first) == nil && len(first) > 0 && first[0].Request[key] != nil
}

func readCassette(raw json.RawMessage) ([]wire.Exchange, error) {
	var doc any
	var err error
	if wire.IsObject(raw) {
		err = json.Unmarshal(raw, &doc)
	} else {
		doc, err = readYAML(raw)
	}
	if err != nil {
		return nil, err
	}
	top, _ := doc.(map[string]any)
	if top["request"] != nil {
		top = map[string]any{"interactions": []any{top}}
	}
	if v, ok := top["version"]; ok && fmt.Sprint(v) != "1" && fmt.Sprint(v) != "2" {
		return nil, fmt.Errorf("version must be 1 or 2, not %s", text.Quote(fmt.Sprint(v), 40))
	}
	items, ok := top["interactions"].([]any)
	if !ok && top["interactions"] != nil {
		return nil, errors.New("interactions must be a list")
	}
	var exchanges []wire.Exchange
	var broken brokenParts
	for i, one := range items {
		x, err := readInteraction(one)
		if err != nil {
			broken.add("interaction", i, len(items), err)
			continue
		}
		exchanges = append(exchanges, x)
	}
	return exchanges, broken.orNil()
}

// readInteraction decodes one interaction of either recorder.
func readInteraction(one any) (x wire.Exchange, err error) {
	both, _ := one.(map[string]any)
	request, ok := both["request"].(map[string]any)
	response, answered := both["response"].(map[string]any)
	if !ok || !answered {
		return x, errors.New("it must have a request and a response")
	}
	x.Method, _ = request["method"].(string)
	x.URL = urlOf(request)
	x.Status = statusOf(response)
	x.Encoding = headerOf(response, "content-encoding")
	if x.Request, err = bodyOf(request); err != nil {
		return x, fmt.Errorf("request: %w", err)
	}
	if x.Response, err = bodyOf(response); err != nil {
		return x, fmt.Errorf("response: %w", err)
	}
	return x, nil
}

// urlOf returns the URL of a request, "/" if there is none.
func urlOf(request map[string]any) string {
	for _, key := range []string{"url", "uri", "path"} {
		if s, ok := request[key].(string); ok && s != "" {
			return s
		}
	}
	return "/"
}

// statusOf returns the code of a response, 0 if there is none: code, status_code,
// status.code, or status, which may be a text such as "200 OK".
func statusOf(response map[string]any) int {
	candidates := []any{response["code"], response["status_code"], response["status"]}
	if status, ok := response["status"].(map[string]any); ok {
		candidates = append(candidates, status["code"])
	}
	for _, c := range candidates {
		s := fmt.Sprint(c)
		if len(s) >= 3 {
			if n, err := strconv.Atoi(s[:3]); err == nil {
				return n
			}
		}
	}
	return 0
}

// headerOf returns the first value of a header, in lower case, "" if there is none.
func headerOf(message map[string]any, name string) string {
	headers, _ := message["headers"].(map[string]any)
	for key, value := range headers {
		if !strings.EqualFold(key, name) {
			continue
		}
		if values, ok := value.([]any); ok && len(values) > 0 {
			value = values[0]
		}
		return strings.ToLower(fmt.Sprint(value))
	}
	return ""
}

// bodyOf returns the body of a request or response. It is a text, an object with
// string or base64_string, the value of parsed_body, or JSON that was recorded as YAML.
func bodyOf(message map[string]any) ([]byte, error) {
	if parsed, ok := message["parsed_body"]; ok && parsed != nil {
		return json.Marshal(parsed)
	}
	body := message["body"]
	if body == nil {
		body = message["content"]
	}
	inBase64 := false
	if parts, ok := body.(map[string]any); ok {
		whole, hasString := parts["string"]
		coded, hasBase64 := parts["base64_string"]
		switch {
		case hasBase64:
			body, inBase64 = coded, true
		case hasString:
			body, inBase64 = whole, parts["encoding"] == "base64"
		}
	}
	switch s := body.(type) {
	case nil:
		return nil, nil
	case string:
		if inBase64 {
			return base64.StdEncoding.DecodeString(s)
		}
		return []byte(s), nil
	}
	return json.Marshal(body)
}
