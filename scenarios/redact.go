package scenarios

import (
	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
)

// Redactor returns the redactor for the outputs of one trial. It replaces a text that
// the scenario's file contains word for word only if the form of the text is that of a
// secret.
func (s *Scenario) Redactor() *secrets.Redactor {
	own := s.content
	if own == "" { // it does not come from a file
		own = string(s.YAML(""))
	}
	return redactor(secrets.Options{Own: []string{own}})
}

// redacting returns the function that redacts the texts of one trace.
func (s *Scenario) redacting() func(string) string { return s.Redactor().Text }

// redactor returns a redactor with options that are known to be valid.
func redactor(o secrets.Options) *secrets.Redactor {
	r, err := secrets.New(o)
	if err != nil {
		panic(err)
	}
	return r
}

// Redact takes secrets and personal data out of the result of [Trial.Run] or
// [Trial.Played], and returns its trace without them: the last step before an output.
// redact is the Text of [Scenario.Redactor]. The results of [Run] are already redacted.
func (r *Result) Redact(trace loop.Trace, redact func(string) string) loop.Trace {
	trace = trace.Map(redact)
	r.redactFindings(redact)
	r.redacted = true
	return trace
}

// finish redacts the result, and adds at most so many bytes of the text of the trace, cut
// as [TraceText] does; 0 = none.
func (t *Trial) finish(r *Result, trace loop.Trace, most int) {
	r.redacted = true
	if most == 0 && len(r.Findings)+len(r.Notes) == 0 {
		return
	}
	change := t.Scenario.redacting()
	if most > 0 {
		r.Trace, r.TraceCut = TraceText(trace, change, most)
	}
	r.redactFindings(change)
}

// Redacted returns the result without secrets and personal data: the result itself if
// [Run], [Result.Redact] or this method has redacted it, else a redacted copy. A result
// that was read from a file is redacted by form only, as the words of its scenario's
// file are not at hand.
func (r *Result) Redacted() *Result {
	if r.redacted {
		return r
	}
	out := *r
	out.redacted = true
	if len(r.Findings)+len(r.Notes) == 0 && r.Trace+r.Why+r.Repeat+r.Client == "" {
		return &out
	}
	o := secrets.Options{}
	if r.fromFile {
		o.Off = []string{secrets.ByName}
	}
	change := redactor(o).Text
	if trace, err := loop.ParseTrace(r.Trace); err == nil {
		out.Trace = trace.Map(change).String()
	} else {
		out.Trace = change(r.Trace)
	}
	out.redactFindings(change)
	return &out
}

// redactFindings replaces the findings and notes by copies with redacted texts.
func (r *Result) redactFindings(change func(string) string) {
	findings := make([]Finding, len(r.Findings))
	for i, f := range r.Findings {
		f.Message, f.At, f.Want, f.Got = change(f.Message), change(f.At), change(f.Want), change(f.Got)
		if f.Diff != nil {
			diff := goldens.Edits{Edit: make([]goldens.Edit, len(f.Diff.Edit)), More: f.Diff.More}
			for j, e := range f.Diff.Edit {
				e.Text = change(e.Text)
				diff.Edit[j] = e
			}
			f.Diff = &diff
		}
		findings[i] = f
	}
	r.Findings = findings
	var notes []string
	for _, note := range r.Notes {
		notes = append(notes, change(note))
	}
	r.Notes = notes
	r.Why, r.Repeat, r.Client = change(r.Why), change(r.Repeat), change(r.Client)
}
