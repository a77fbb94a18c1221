package reports

import (
	"encoding/json"
	"math"
	"strconv"
)

// A Figure is a number that may be unknown: then it is NaN, and null in JSON. Its JSON
// has at most 12 significant digits.
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
	return json.Marshal(rounded(float64(f)))
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

// rounded returns x with 12 significant digits. The last ones of a float64 differ between
// platforms, some of which fuse a multiplication with an addition; what is rounded before
// it is shown is the same on all of them.
func rounded(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64) // what FormatFloat writes is valid
	return y
}

// decimal writes x with a number of digits after the point.
func decimal(x float64, digits int) string {
	return strconv.FormatFloat(rounded(x), 'f', digits, 64)
}
