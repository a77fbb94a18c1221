package loop

// A Code says how a call ended: the taxonomy of eleven codes, and Cancelled.
type Code string

// The codes.
const (
	None                 Code = ""                     // success; "None" in results files
	Timeout              Code = "Timeout"              // no answer in time; HTTP 408, 504
	RateLimited          Code = "RateLimited"          // HTTP 429
	RetryableServer      Code = "RetryableServer"      // other HTTP 5xx, and what a tool knows to be transient
	InvalidInput         Code = "InvalidInput"         // HTTP 400, 422; arguments that are no JSON object
	NotFound             Code = "NotFound"             // HTTP 404; a tool that does not exist
	Unauthorized         Code = "Unauthorized"         // HTTP 401
	Forbidden            Code = "Forbidden"            // HTTP 403; permission denied
	ToolBug              Code = "ToolBug"              // the tool crashed
	OutputSchemaMismatch Code = "OutputSchemaMismatch" // the answer breaks its schema
	NoResults            Code = "NoResults"            // nothing found: an answer, not an error
	Cancelled            Code = "Cancelled"            // ended because it was told to
)

// Codes lists every code in the taxonomy's order.
func Codes() []Code {
	return []Code{None, Timeout, RateLimited, RetryableServer, InvalidInput, NotFound, Unauthorized,
		Forbidden, ToolBug, OutputSchemaMismatch, NoResults, Cancelled}
}

// Failed reports whether the code is an error's. NoResults is none.
func (c Code) Failed() bool { return c != None && c != NoResults }
