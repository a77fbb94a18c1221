package reports

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a report as JSON in the form of docs/report.schema.json.
// Figures that are unknown are null.
func WriteJSON(w io.Writer, r *Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
