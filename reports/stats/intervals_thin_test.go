//go:build !figures

package stats

// A thin grid, which sees gross mistakes in a second. `make simulations` computes
// the whole.
const (
	gridStep  = 7   // per cent: .50, .57 … .99
	gridSets  = 100 // simulated data sets a cell
	gridSlack = 4.5 // standard errors of a share that are allowed
)
