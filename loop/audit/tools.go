package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// This file recounts the calls that a tool's breaker, its rate or the page limit
// refuses.

// A toolState is a tool with its counters.
type toolState struct {
	*loop.ToolSpec
	failures int             // failed calls in a row
	opensAt  time.Duration   // when the breaker lets one call through
	probed   bool            // the breaker let a call through that has not ended
	starts   []time.Duration // when calls began, if the tool has a rate
	pages    map[string]int  // the page to which each token leads
}

// toolState returns the state of a tool.
func (b *book) toolState(spec *loop.ToolSpec) *toolState {
	t := b.states[spec.Name]
	if t == nil {
		t = &toolState{ToolSpec: spec, pages: map[string]int{}}
		b.states[spec.Name] = t
	}
	return t
}

// tripped reports whether the tool's breaker has tripped.
func (t *toolState) tripped() bool { return t.Breaker.Failures > 0 && t.failures >= t.Breaker.Failures }

// free reports whether breaker and rate allow a call of the tool at an instant.
func (t *toolState) free(at time.Duration) bool {
	if t.tripped() && (at < t.opensAt || t.probed) {
		return false
	}
	if t.Rate.Calls == 0 {
		return true
	}
	within := 0
	for i := len(t.starts) - 1; i >= 0 && t.starts[i]+t.Rate.Per > at; i-- {
		within++
	}
	return within < t.Rate.Calls
}

// let counts a call that is allowed.
func (t *toolState) let(at time.Duration) {
	if t.Rate.Calls > 0 {
		t.starts = append(t.starts, at)
	}
	t.probed = t.probed || t.tripped()
}

// ended counts the end of a call.
func (t *toolState) ended(at time.Duration, failed bool) {
	t.probed = false
	if !failed {
		t.failures = 0
		return
	}
	t.failures++
	t.opensAt = at + t.Breaker.Cooldown
}

// refusedByTool reports whether the tool of a call refuses it and its fallback does not
// replace it.
func (b *book) refusedByTool(c *call) bool {
	if c.spec == nil {
		return false
	}
	t, at := b.toolState(c.spec), c.reply.at
	if limit := b.cfg.Contracts.PageLimit; limit > 0 {
		if c.page = t.page(c.args); c.page > limit {
			return true
		}
	}
	if t.free(at) {
		return false
	}
	other := b.tools[t.Fallback]
	if !b.cfg.Policy.Fallbacks || other == nil || !b.toolState(other).free(at) {
		return true
	}
	if b.breaksSchema(other, c.fixed) {
		return true
	}
	c.spec, c.standIn = other, other.Name
	return false
}

// endTools counts the ends of the calls of a batch: those that a fallback took over at
// that instant, the others at the end of the batch.
func (b *book) endTools(r *reply) {
	var over []*try
	for _, c := range r.calls {
		for k, t := range c.tries {
			if k > 0 && t.name != c.tries[k-1].name {
				over = append(over, t)
			}
		}
	}
	slices.SortFunc(over, func(t, u *try) int { return cmp.Compare(t.started.line, u.started.line) })
	for _, t := range over {
		before := t.call.tries[slices.Index(t.call.tries, t)-1]
		b.toolState(before.spec).ended(t.started.at, true)
		b.toolState(t.spec).let(t.started.at)
	}
	for _, c := range r.calls {
		if c.spec != nil && len(c.puts) > 0 {
			b.endTool(c, c.puts[0])
		}
	}
}

func (b *book) endTool(c *call, put *item) {
	spec, last := c.spec, c.last()
	if last != nil {
		spec = last.spec
	}
	t := b.toolState(spec)
	t.probed = false
	if last == nil || put.eff.Code == loop.Cancelled {
		return
	}
	t.ended(put.at, put.eff.Code.Failed() || b.errorText(c))
	if text, _ := b.result(last); b.cfg.Contracts.PageLimit > 0 {
		t.offers(text, c.page)
	}
}

// page returns the page that a call with these arguments reads.
func (t *toolState) page(args string) int {
	if len(t.pages) == 0 {
		return 1 // no result has offered a page
	}
	var fields map[string]any
	json.Unmarshal([]byte(args), &fields)
	page := 1
	for _, name := range []string{"page", "next_page", "nextPage", "page_token", "pageToken", "next_token", "nextToken", "token", "cursor"} {
		if value, there := fields[name]; there {
			page = max(page, t.pages[fmt.Sprint(value)])
		}
	}
	return page
}

// offers remembers the token for the next page in a result.
func (t *toolState) offers(text string, page int) {
	if object := strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{"); !object || !strings.Contains(text, "next") && !strings.Contains(text, `\u`) {
		return // it has neither key in any spelling
	}
	var fields map[string]any
	json.Unmarshal([]byte(text), &fields)
	for _, name := range []string{"next_page", "nextToken"} {
		if value := fields[name]; value != nil && value != "" && value != false {
			t.pages[fmt.Sprint(value)] = page + 1
			return
		}
	}
}
