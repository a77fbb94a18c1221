package loop

// A Resolution is what the policy table does about a call that failed.
type Resolution string

// The resolutions.
const (
	ResolveModel    Resolution = "model"    // the model reads the error and decides
	ResolveRetry    Resolution = "retry"    // the same tool again
	ResolveFallback Resolution = "fallback" // the tool's fallback with the same arguments
	ResolveAsk      Resolution = "ask"      // ask the user for what is missing
	ResolveStop     Resolution = "stop"     // end the run
)

// A Failing is what the policy table looks at.
type Failing struct {
	Code        Code
	RetriesLeft bool // the code may be retried, and a retry is left
	Fallback    bool // the tool has a fallback, and policy.fallbacks is on
	Missing     bool // required arguments are missing, and policy.ask_missing is on
}

// Resolve is the policy table of the specification, appendix 18: retry, then
// fallback, then ask the user for missing fields, then stop. Missing rights are
// never tried again; a success and NoResults go to the model.
//
//	code                                  retries left  fallback  missing  else
//	None, NoResults                       model         model     model    model
//	Timeout, RateLimited, RetryableServer retry         fallback  stop     stop
//	InvalidInput                          stop          stop      ask      stop
//	NotFound                              model         fallback  ask      model
//	OutputSchemaMismatch, ToolBug         stop          fallback  stop     stop
//	Unauthorized, Forbidden               stop          stop      stop     stop
//	Cancelled                             stop          stop      stop     stop
//
// With several of the three, the first column that does not say stop or model
// holds.
func (f Failing) Resolve() Resolution {
	switch f.Code {
	case None, NoResults:
		return ResolveModel
	case Timeout, RateLimited, RetryableServer:
		if f.RetriesLeft {
			return ResolveRetry
		}
		if f.Fallback {
			return ResolveFallback
		}
	case OutputSchemaMismatch, ToolBug:
		if f.Fallback {
			return ResolveFallback
		}
	case InvalidInput:
		if f.Missing {
			return ResolveAsk
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

// HTTPCode maps an HTTP status onto the taxonomy, as the specification's
// appendix 18 does. A status that is no error is None; 408 and 504 are Timeout;
// a 4xx that the taxonomy does not name is InvalidInput.
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
