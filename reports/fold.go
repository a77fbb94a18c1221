package reports

import "github.com/agentbench-go/agentbench/scenarios"

// A Fold folds results into a [Report]. It takes the headers and the results of
// any number of files, in any order: the same results give the same report. The
// zero Fold is ready.
type Fold struct {
	// Reference names the variant that others are compared with; "" = the first.
	Reference string
	// Keep keeps the results for Report.Results.
	Keep bool
	// Repeat gives the command that shows a trial; nil = none is known.
	Repeat func(*scenarios.Result) string
}

// Header takes the header of a results file. The error says why its results
// cannot stand beside those that came before.
func (f *Fold) Header(h *scenarios.Header) error { return nil }

// Add takes one result. The error says that the same trial came before.
func (f *Fold) Add(r *scenarios.Result) error { return nil }

// Report gives what the results so far come to. The error says that Reference
// names a variant that is not among them.
func (f *Fold) Report() (*Report, error) { return &Report{Schema: ReportSchema}, nil }
