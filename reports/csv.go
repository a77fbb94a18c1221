package reports

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// csvHead are the columns of WriteCSV, named as the keys of a results file.
var csvHead = []string{"scenario", "suite", "label", "variant", "seed", "verdict", "end_state", "stop", "turns", "model_calls", "asked", "calls", "tries",
	"errors", "vetoed", "denied", "invalid", "nudges", "virtual_ms", "tokens_in", "tokens_out", "cost_usd", "golden", "saved", "went_on", "findings"}

// WriteCSV writes a row for each trial, for a spreadsheet. Results that are not whole
// end with a row "incomplete" for each thing that they lack.
func WriteCSV(w io.Writer, r *Report) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHead); err != nil {
		return err
	}
	for _, res := range r.Results {
		if err := out.Write(csvRow(res)); err != nil {
			return err
		}
	}
	for _, words := range r.Incomplete {
		row := make([]string, len(csvHead))
		row[0], row[slices.Index(csvHead, "verdict")], row[len(row)-1] = "incomplete", string(scenarios.Inconclusive), csvText(words)
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func csvRow(r *scenarios.Result) []string {
	var found []string
	if len(r.Findings) > 0 {
		found = Reasons(r)
	}
	return []string{csvText(r.Scenario), csvText(suiteOf(r)), string(r.Label), csvText(r.Variant), strconv.FormatUint(r.Seed, 10), csvText(string(r.Verdict)),
		string(r.EndState), csvText(string(r.Stop)), strconv.Itoa(r.Turns), strconv.Itoa(r.ModelCalls), strconv.Itoa(asked(r)), strconv.Itoa(r.Calls), strconv.Itoa(r.Tries),
		strconv.Itoa(r.Errors), strconv.Itoa(r.Vetoed), strconv.Itoa(r.Denied), strconv.Itoa(r.Invalid), strconv.Itoa(r.Nudges), strconv.FormatInt(r.VirtualMS, 10),
		strconv.FormatInt(r.TokensIn, 10), strconv.FormatInt(r.TokensOut, 10), strconv.FormatFloat(r.CostUSD, 'f', -1, 64), csvText(r.Golden), strconv.Itoa(r.Saved),
		strconv.FormatBool(r.WentOn), csvText(strings.Join(found, "; "))}
}

// csvText makes foreign text safe for a cell: a spreadsheet treats a text that begins
// with =, +, - or @ as a formula.
func csvText(s string) string {
	s = text.Line(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
