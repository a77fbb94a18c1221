package reports

import (
	"encoding/json"
	"math"
)

// A Figure is a number that may be unknown: then it is NaN, and null in JSON.
type Figure float64

// Unknown returns the unknown figure.
func Unknown() Figure { return Figure(math.NaN()) }

// Known reports whether the figure is a finite number.
func (f Figure) Known() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// MarshalJSON returns the number, or null.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads a number or null.
func (f *Figure) UnmarshalJSON(b []byte) error {
	var v *float64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*f = Unknown()
	if v != nil {
		*f = Figure(*v)
	}
	return nil
}
