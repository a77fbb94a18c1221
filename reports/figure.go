package reports

import (
	"encoding/json"
	"math"
)

// A Figure is a number that may be unknown: NaN, which JSON has as null.
type Figure float64

// Unknown is the figure that nobody knows.
func Unknown() Figure { return Figure(math.NaN()) }

// Known reports whether there is a number, and a finite one.
func (f Figure) Known() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// MarshalJSON gives the number, or null.
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
