package loop

// A Setup is what the machine of a session is made of.
type Setup struct {
	Config Config
	Task   Task
	Tools  []ToolSpec
	// Sub returns the setup of the sub-run that a try of a tool starts, before
	// [Config.Within] bounds it; ok is false if the tool starts none. A nil Sub
	// means that no tool does.
	Sub func(try Ref, tool, args string) (sub Setup, ok bool)
}

// Within returns the config as a bounded one for a sub-run: it may spend what the
// limits of its caller leave when the call starts, and its time.grace is at most half
// of the caller's, so that it can end before the caller abandons it. Where a limit leaves
// nothing, that limit of the sub-run is -1: it allows nothing. Only Within sets that, and
// only [New] takes it. call is the CallTool effect. Its Budget is not needed, since the
// caller cancels the try.
func (c Config) Within(caller Config, call Effect) Config {
	l := &c.Limits
	for _, one := range [...]struct {
		own  *int
		left int
	}{{&l.Asked, call.AskedLeft}, {&l.Calls, call.CallsLeft}, {&l.Spawns, call.SpawnsLeft}} {
		if one.left != 0 && (*one.own == 0 || one.left < *one.own) {
			*one.own = one.left
		}
	}
	if left := call.TokensLeft; left != 0 && (l.Tokens == 0 || left < l.Tokens) {
		l.Tokens = left
	}
	if left := call.CostLeft; left != 0 && (l.CostUSD == 0 || left < l.nanoDollars()) {
		if l.CostUSD = -1; left > 0 {
			l.CostUSD = float64(left) / 1e9
		}
	}
	c.Time.Grace = min(c.Time.Grace, caller.Time.Grace/2)
	return c
}
