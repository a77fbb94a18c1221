package loop_test

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// policyTable is the specification's section 6 (retry, then fallback, then ask
// the user for missing fields, then stop) over its appendix 18. The columns say
// what there is: r a retry that is left, f a fallback, m missing fields. The
// appendix's words for each row are behind it.
const policyTable = `
                     -      r      f         rf        m      rm     fm        rfm
None                 model  model  model     model     model  model  model     model     # a success
Timeout              stop   retry  fallback  retry     stop   retry  fallback  retry     # Retry then fallback
RateLimited          stop   retry  fallback  retry     stop   retry  fallback  retry     # Retry with backoff + jitter
RetryableServer      stop   retry  fallback  retry     stop   retry  fallback  retry     # Retry with backoff
InvalidInput         stop   stop   stop      stop      ask    ask    ask       ask       # Ask user / repair: the loop's own repair has failed
NotFound             model  model  fallback  fallback  ask    ask    fallback  fallback  # Ask/replan: the model replans
Unauthorized         stop   stop   stop      stop      stop   stop   stop      stop      # Stop with action item
Forbidden            stop   stop   stop      stop      stop   stop   stop      stop      # Stop with action item
ToolBug              stop   stop   stop      stop      stop   stop   stop      stop      # Stop & alert
OutputSchemaMismatch stop   stop   fallback  fallback  stop   stop   fallback  fallback  # Attempt bounded repair else stop
NoResults            model  model  model     model     model  model  model     model     # an answer, no error
ConnectionLost       stop   retry  fallback  retry     stop   retry  fallback  retry     # beside the taxonomy's eleven: as RetryableServer
NotSent              stop   retry  fallback  retry     stop   retry  fallback  retry     # as RetryableServer
Cancelled            stop   stop   stop      stop      stop   stop   stop      stop      # beside the taxonomy's eleven
`

func TestPolicyTable(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(policyTable), "\n")
	columns, codes, cells := strings.Fields(rows[0]), loop.Codes(), 0
	if len(rows)-1 != len(codes) {
		t.Fatalf("%d rows for %d codes", len(rows)-1, len(codes))
	}
	for i, row := range rows[1:] {
		row, _, _ = strings.Cut(row, "#")
		words := strings.Fields(row)
		code := codes[i]
		if code == loop.None && words[0] != "None" || code != loop.None && words[0] != string(code) {
			t.Fatalf("row %d is of %s, code %d is %q", i, words[0], i, code)
		}
		for j, has := range columns {
			f := loop.Failing{Code: code, RetriesLeft: strings.Contains(has, "r"), Fallback: strings.Contains(has, "f"), Missing: strings.Contains(has, "m")}
			if got := f.Resolve(); string(got) != words[1+j] {
				t.Errorf("%s with %s: %s, want %s", words[0], has, got, words[1+j])
			}
			cells++
		}
	}
	// A tool's own InvalidInput: the user is asked where that is on, else the model repairs.
	for missing, want := range map[bool]loop.Resolution{false: loop.ResolveModel, true: loop.ResolveAsk} {
		f := loop.Failing{Code: loop.InvalidInput, RetriesLeft: true, Fallback: true, Missing: missing, Answered: true}
		if got := f.Resolve(); got != want {
			t.Errorf("a tool's own InvalidInput, missing %v: %s, want %s", missing, got, want)
		}
	}
	if cells != 14*8 { // 88 of the taxonomy's eleven, 24 of the three beside it
		t.Errorf("%d cells", cells)
	}
}

// The statuses of appendix 18, and those that it does not name.
func TestHTTPCode(t *testing.T) {
	want := map[int]loop.Code{
		200: loop.None, 204: loop.None, 304: loop.None, 399: loop.None,
		400: loop.InvalidInput, 422: loop.InvalidInput,
		401: loop.Unauthorized, 403: loop.Forbidden,
		404: loop.NotFound, 429: loop.RateLimited,
		408: loop.Timeout, 410: loop.NotFound, // as the doc comment says
		402: loop.InvalidInput, 405: loop.InvalidInput, 409: loop.InvalidInput, 418: loop.InvalidInput, 428: loop.InvalidInput, 430: loop.InvalidInput, 499: loop.InvalidInput,
	}
	for status := 500; status <= 599; status++ {
		want[status] = loop.RetryableServer
	}
	want[504] = loop.Timeout
	for status, code := range want {
		if got := loop.HTTPCode(status); got != code {
			t.Errorf("%d: %q, want %q", status, got, code)
		}
	}
}
