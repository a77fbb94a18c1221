package scenarios

import "io"

// A ResultWriter writes a results file: JSON Lines, a header and then one line
// a trial.
type ResultWriter struct{}

// NewResultWriter writes the header to w.
func NewResultWriter(w io.Writer, h Header) (*ResultWriter, error) { return nil, nil }

// Write appends a line.
func (w *ResultWriter) Write(r *Result) error { return nil }

// ReadResults reads a results file and hands its lines to header and each; name
// stands in errors, which begin with name:line. Keys that it does not know are
// left out, as are lines of other types; a line without type, scenario, label,
// variant, end_state or calls is an error, as is one scenario, variant and seed
// twice. A file may hold several headers, as shards laid end to end do. An
// error of each ends the reading.
func ReadResults(r io.Reader, name string, header func(*Header) error, each func(*Result) error) error {
	return nil
}
