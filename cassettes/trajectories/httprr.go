package trajectories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/text"
)

const httpRRHead = "httprr trace v1"

// httpRR is a recording of golang.org/x's httprr and its copies. After a first line
// it has, for each exchange, a line with the sizes of the request and the response
// in bytes, and then both as they were sent.
var httpRR = format{
	name:    "httprr",
	looks:   "a file that begins with " + httpRRHead,
	ends:    []string{".httprr"},
	text:    func(data []byte) bool { return bytes.HasPrefix(data, []byte(httpRRHead)) },
	traffic: readHTTPRR,
}

// readHTTPRR returns the exchanges that can be read, and the others as broken parts.
// Without its sizes, an exchange hides those after it.
func readHTTPRR(raw json.RawMessage) ([]wire.Exchange, error) {
	head, rest, _ := bytes.Cut(raw, []byte("\n"))
	if strings.TrimRight(string(head), "\r") != httpRRHead {
		return nil, fmt.Errorf("the first line must be %s", httpRRHead)
	}
	var exchanges []wire.Exchange
	var broken brokenParts
	n := 0
	for ; len(rest) > 0; n++ {
		request, response, after, err := cutExchange(rest)
		if err != nil {
			broken.add("exchange", n, n+1, err)
			break
		}
		rest = after
		x, err := readExchange(request, response)
		if err != nil {
			broken.add("exchange", n, n+1, err)
			continue
		}
		exchanges = append(exchanges, x)
	}
	return exchanges, broken.orNil()
}

// cutExchange returns the messages of the first exchange and what follows it.
func cutExchange(data []byte) (request, response, rest []byte, err error) {
	sizes, rest, whole := bytes.Cut(data, []byte("\n"))
	a, b, _ := strings.Cut(strings.TrimRight(string(sizes), "\r"), " ")
	asked, errA := strconv.ParseUint(a, 10, 31)
	answered, errB := strconv.ParseUint(b, 10, 31)
	if errA != nil || errB != nil || !whole {
		return nil, nil, nil, fmt.Errorf("%s must be two sizes in bytes", text.Quote(string(sizes), 40))
	}
	if uint64(len(rest)) < asked+answered {
		return nil, nil, nil, fmt.Errorf("the file ends %d bytes too early", asked+answered-uint64(len(rest)))
	}
	return rest[:asked], rest[asked : asked+answered], rest[asked+answered:], nil
}

func readExchange(request, response []byte) (x wire.Exchange, err error) {
	asked, err := cutHead(request)
	if err != nil {
		return x, fmt.Errorf("request: %w", err)
	}
	words := strings.Fields(asked.first)
	if len(words) != 3 {
		return x, fmt.Errorf("%s is not the first line of a request", text.Quote(asked.first, 40))
	}
	x.Method, x.URL, x.Request = words[0], words[1], asked.body
	answered, err := cutHead(response)
	if err != nil {
		return x, fmt.Errorf("response: %w", err)
	}
	if words = strings.Fields(answered.first); len(words) < 2 {
		return x, fmt.Errorf("%s is not the first line of a response", text.Quote(answered.first, 40))
	}
	if x.Status, err = strconv.Atoi(words[1]); err != nil {
		return x, fmt.Errorf("%s is not a status", text.Quote(words[1], 40))
	}
	x.Response, x.Encoding = answered.body, answered.encoding
	return x, nil
}

// An httpMessage is a request or a response as it was sent.
type httpMessage struct {
	first    string // line
	encoding string // Content-Encoding
	body     []byte // without its chunks
}

// blankLine matches the end of the headers, whose lines may end in LF alone.
var blankLine = regexp.MustCompile(`\r?\n\r?\n`)

func cutHead(message []byte) (m httpMessage, err error) {
	at := blankLine.FindIndex(message)
	if at == nil {
		return m, errors.New("no blank line after its headers")
	}
	m.body = message[at[1]:]
	for i, line := range strings.Split(string(message[:at[0]]), "\n") {
		line = strings.TrimRight(line, "\r")
		name, value, _ := strings.Cut(line, ":")
		value = strings.ToLower(strings.TrimSpace(value))
		switch {
		case i == 0:
			m.first = line
		case strings.EqualFold(name, "Content-Encoding"):
			m.encoding = value
		case strings.EqualFold(name, "Transfer-Encoding") && value == "chunked":
			whole, err := io.ReadAll(io.LimitReader(httputil.NewChunkedReader(bytes.NewReader(m.body)), maxRecord))
			if err == nil { // some recorders join the chunks and keep the header
				m.body = whole
			}
		}
	}
	return m, nil
}
