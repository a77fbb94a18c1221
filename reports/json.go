package reports

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/agentbench-go/agentbench/internal/text"
)

// WriteJSON writes a report as JSON in the form of docs/report.schema.json. Unknown
// figures are null.
func WriteJSON(w io.Writer, r *Report) error { return writeJSON(w, r) }

// writeJSON writes a value, indented.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(text.JSON(b.Bytes()))
	return err
}
