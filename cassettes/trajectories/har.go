package trajectories

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// har is an HTTP archive, as browsers, proxies and Polly.JS write it.
var har = format{
	name:  "har",
	looks: `{"log": {"entries": [{"request": {…}, "response": {…}}, …]}}`,
	ends:  []string{".har"},
	fits: func(keys map[string]json.RawMessage) bool {
		entries := listOf(inner(keys, "log")["entries"])
		return len(entries) > 0 && wire.IsObject(objectOf(entries[0])["request"])
	},
	traffic: readHAR,
}

type harEntry struct {
	Request struct {
		Method, URL string
		PostData    struct{ Text, Encoding string }
	}
	Response struct {
		Status  int
		Content struct{ Text, Encoding string }
	}
}

func readHAR(raw json.RawMessage) (exchanges []wire.Exchange, _ error) {
	items, err := readArray("log.entries", inner(objectOf(raw), "log")["entries"])
	if err != nil {
		return nil, err
	}
	var broken brokenParts
	for i, item := range items {
		var e harEntry
		if err := rawjson.Unmarshal(item, &e); err != nil {
			broken.add("entry", i, len(items), wrongType(err))
			continue
		}
		x := wire.Exchange{Method: e.Request.Method, URL: e.Request.URL, Status: e.Response.Status}
		if x.Request, err = harText(e.Request.PostData.Text, e.Request.PostData.Encoding); err == nil {
			x.Response, err = harText(e.Response.Content.Text, e.Response.Content.Encoding)
		}
		if err != nil {
			broken.add("entry", i, len(items), err)
			continue
		}
		exchanges = append(exchanges, x)
	}
	return exchanges, broken.orNil()
}

func harText(text, encoding string) ([]byte, error) {
	if encoding != "base64" {
		return []byte(text), nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("its text is not base64: %w", err)
	}
	return data, nil
}
