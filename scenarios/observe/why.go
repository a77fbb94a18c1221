package observe

import (
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

// noReason and noError are the why of an agent that ended well and said nothing: of a
// process, and of a function.
const (
	noReason = "exit code 0"
	noError  = "it returned no error"
)

// why says why the agent ended, as far as can be seen: how its process ended, what it
// wrote last, and what it told the model before.
func (t *tracer) why() string {
	var b strings.Builder
	switch e := &t.o.End; {
	case e.How == Interrupted:
		return "interrupted"
	case e.How == NotStarted:
		return "it could not be started"
	case e.How != Exited:
		fmt.Fprintf(&b, "it was ended after %s", text.Duration(e.At))
	case e.Signal != "":
		fmt.Fprintf(&b, "signal %s", e.Signal)
	case e.Returned && e.Code != 0:
		b.WriteString("it returned an error")
	case e.Returned:
		b.WriteString(noError)
	default:
		fmt.Fprintf(&b, "exit code %d", e.Code)
	}
	if says := t.o.End.Says; len(says) > 0 {
		fmt.Fprintf(&b, "; it says %s", text.Quote(text.Line(strings.Join(says, " ")), 160))
	}
	if t.nudge != "" {
		fmt.Fprintf(&b, "; it had told the model %s", text.Quote(text.Line(t.nudge), 120))
	}
	if t.refusal != "" {
		fmt.Fprintf(&b, "; it had refused a call: %s", text.Quote(text.Line(t.refusal), 120))
	}
	if t.toolless {
		b.WriteString("; it offered no tools any more")
	}
	return b.String()
}
