//go:build figures

package stats

// The grid of TestIntervalsKeepTheirWord as `make simulations` computes it.
const (
	gridStep  = 1    // per cent
	gridSets  = 1000 // simulated data sets a cell
	gridSlack = 0
)
