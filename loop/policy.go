package loop

// A Resolution is what the policy table does about a failed call.
type Resolution string

// The resolutions.
const (
	ResolveModel    Resolution = "model"    // the model reads the error and decides
	ResolveRetry    Resolution = "retry"    // call the same tool again
	ResolveFallback Resolution = "fallback" // call the tool's fallback with the same arguments
	ResolveAsk      Resolution = "ask"      // ask the user for the missing arguments
	ResolveStop     Resolution = "stop"     // end the run
)

// A Failing is what the policy table knows of a failed call.
type Failing struct {
	Code        Code
	RetriesLeft bool // the code may be retried, and a retry is left
	Fallback    bool // the tool has a fallback, and policy.fallbacks is on
	Missing     bool // the user can say what is missing in the arguments, and policy.ask_missing is on
	Answered    bool // the tool itself answered so: the arguments had passed the loop's own checks
}

// Resolve returns what the policy table does: retry, then fallback, then ask the
// user for missing arguments, then stop. It never retries a lack of rights, and
// calls no fallback after a bug. A success and NoResults go to the model, and so do
// arguments that the tool itself does not accept: the model repairs them.
//
//	code                                  retries left  fallback  missing  else
//	None, NoResults                       model         model     model    model
//	Timeout, RateLimited, RetryableServer retry         fallback  stop     stop
//	ConnectionLost, NotSent               retry         fallback  stop     stop
//	InvalidInput                          stop          stop      ask      stop
//	InvalidInput, the tool's own answer   model         model     ask      model
//	NotFound                              model         fallback  ask      model
//	OutputSchemaMismatch                  stop          fallback  stop     stop
//	ToolBug                               stop          stop      stop     stop, with an alert
//	Unauthorized, Forbidden               stop          stop      stop     stop
//	Cancelled                             stop          stop      stop     stop
//
// If several of the three columns apply, the first one that does not say stop or
// model counts.
func (f Failing) Resolve() Resolution {
	switch f.Code {
	case None, NoResults:
		return ResolveModel
	case Timeout, RateLimited, RetryableServer, ConnectionLost, NotSent:
		if f.RetriesLeft {
			return ResolveRetry
		}
		if f.Fallback {
			return ResolveFallback
		}
	case OutputSchemaMismatch:
		if f.Fallback {
			return ResolveFallback
		}
	case InvalidInput:
		if f.Missing {
			return ResolveAsk
		}
		if f.Answered {
			return ResolveModel
		}
	case NotFound:
		if f.Fallback {
			return ResolveFallback
		}
		if f.Missing {
			return ResolveAsk
		}
		return ResolveModel
	}
	return ResolveStop
}

// HTTPCode returns the code of an HTTP status. It is None for a status below 400
// and Timeout for 408 and 504. A 4xx status without a code of its own is
// InvalidInput, and a 5xx status is RetryableServer.
func HTTPCode(status int) Code {
	switch {
	case status < 400:
		return None
	case status == 401:
		return Unauthorized
	case status == 403:
		return Forbidden
	case status == 404, status == 410:
		return NotFound
	case status == 408, status == 504:
		return Timeout
	case status == 429:
		return RateLimited
	case status >= 500:
		return RetryableServer
	}
	return InvalidInput
}
