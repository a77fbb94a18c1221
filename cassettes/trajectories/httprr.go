package trajectories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	name:  "httprr",
	looks: "a file that begins with " + httpRRHead,
	ends:  []string{".httprr"},
	text:  func(data []byte) bool { return bytes.HasPrefix(data, []byte(httpRRHead)) },
	read:  readHTTPRR,
}

// readHTTPRR returns what is before a broken exchange, too.
func readHTTPRR(raw json.RawMessage) ([]*Trajectory, error) {
	head, rest, _ := bytes.Cut(raw, []byte("\n"))
	if strings.TrimRight(string(head), "\r") != httpRRHead {
		return nil, fmt.Errorf("the first line must be %s", httpRRHead)
	}
	var exchanges []wire.Exchange
	var broken error
	for n := 1; len(rest) > 0; n++ {
		var x wire.Exchange
		if x, rest, broken = cutExchange(rest); broken != nil {
			broken = fmt.Errorf("exchange %d: %w", n, broken)
			break
		}
		exchanges = append(exchanges, x)
	}
	if broken != nil && len(exchanges) == 0 {
		return nil, broken
	}
	trajectories, left := readTraffic(exchanges)
	if broken != nil {
		return trajectories, broken
	}
	return trajectories, left
}

func cutExchange(data []byte) (x wire.Exchange, rest []byte, err error) {
	sizes, rest, whole := bytes.Cut(data, []byte("\n"))
	a, b, _ := strings.Cut(strings.TrimRight(string(sizes), "\r"), " ")
	request, errA := strconv.ParseUint(a, 10, 31)
	response, errB := strconv.ParseUint(b, 10, 31)
	if errA != nil || errB != nil || !whole {
		return x, nil, fmt.Errorf("%s must be two sizes in bytes", text.Quote(string(sizes), 40))
	}
	if uint64(len(rest)) < request+response {
		return x, nil, fmt.Errorf("the file ends %d bytes too early", request+response-uint64(len(rest)))
	}
	var line string
	if line, x.Request, err = cutHead(rest[:request]); err != nil {
		return x, nil, fmt.Errorf("request: %w", err)
	}
	words := strings.Fields(line)
	if len(words) != 3 {
		return x, nil, fmt.Errorf("%s is not the first line of a request", text.Quote(line, 40))
	}
	x.Method, x.URL = words[0], words[1]
	if line, x.Response, err = cutHead(rest[request : request+response]); err != nil {
		return x, nil, fmt.Errorf("response: %w", err)
	}
	if words = strings.Fields(line); len(words) < 2 {
		return x, nil, fmt.Errorf("%s is not the first line of a response", text.Quote(line, 40))
	}
	if x.Status, err = strconv.Atoi(words[1]); err != nil {
		return x, nil, fmt.Errorf("%s is not a status", text.Quote(words[1], 40))
	}
	return x, rest[request+response:], nil
}

// cutHead returns the first line and the body of an HTTP message.
func cutHead(message []byte) (line string, body []byte, err error) {
	head, body, found := bytes.Cut(message, []byte("\r\n\r\n"))
	if !found {
		return "", nil, errors.New("no blank line after its headers")
	}
	first, _, _ := bytes.Cut(head, []byte("\r\n"))
	return string(first), body, nil
}
