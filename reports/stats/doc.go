// Package stats has the statistics that reports give: survival curves and
// tests on them, cumulative incidence, intervals and tests for rates and for
// pairs, intervals by bootstrap. They are functions of numbers: the same
// numbers give the same answer bit for bit, in whatever order observations
// come; what draws at random takes a seed.
//
// # Conventions
//
// Every interval and band is two-sided with 95 % confidence, pointwise for
// curves. Every p value is two-sided.
//
// What is not defined is NaN, and the function says when. Nothing panics and
// nothing guesses. Among what is never defined is an answer about observations
// one of which has a time that is negative or not finite, a negative cause, or
// a weight that is negative or not finite.
//
// At one time events come before censorings, as R has it: who is censored at t
// was at risk of the events at t.
//
// # Units and trials
//
// What inference counts is units (scenarios, recorded runs), not trials. So m
// trials of one unit are observations of weight 1/m ([Pool] sets that), and a
// unit weighs 1 however often it was tried. Numbers at risk and of events are
// sums of weights, then, and m equal trials say no more than one. Trials that
// differ say more than one, which formulas for independent observations cannot
// know: with weights, [KaplanMeier], [CumulativeIncidence] and [LogRank] err on
// the cautious side. [ClusterBands], [QuantileInterval] and [Bootstrap] do not;
// they draw units anew, each with all its trials.
//
// # Sources
//
//   - Kaplan and Meier 1958, JASA 53:457. Greenwood 1926, Rep. Public Health 33:1.
//   - Kalbfleisch and Prentice 2002, The Statistical Analysis of Failure Time
//     Data (bands on transformed scales, log-rank with ties).
//   - Brookmeyer and Crowley 1982, Biometrics 38:29 (interval of the median).
//   - Mantel 1966, Cancer Chemother. Rep. 50:163 (log-rank).
//   - Aalen and Johansen 1978, Scand. J. Statist. 5:141. Allignol, Schumacher and
//     Beyersmann 2010, Biom. J. 52:126 (its variance of Greenwood's kind).
//   - Wilson 1927, JASA 22:209. Newcombe 1998, Stat. Med. 17:857.
//   - McNemar 1947, Psychometrika 12:153. Liddell 1983, J. Epidemiol. Community
//     Health 37:82 (the exact test).
//   - Holm 1979, Scand. J. Statist. 6:65.
//   - Hyndman and Fan 1996, Am. Statist. 50:361 (definitions of quantiles).
//   - Efron and Tibshirani 1993, An Introduction to the Bootstrap (percentiles).
//   - Davison and Hinkley 1997, Bootstrap Methods and their Application (clusters).
//   - Therneau, the survival package of R, whose figures these must equal.
package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// z is the normal quantile of a two-sided 95 % interval, 1.959964.
var z = distuv.UnitNormal.Quantile(0.975)

// An Interval is an estimate with its 95 % interval. A part that is not defined
// is NaN; for an upper limit of times that means that the data set none.
type Interval struct{ Value, Lower, Upper float64 }

// undefined is an interval of which nothing is known.
func undefined() Interval { return Interval{math.NaN(), math.NaN(), math.NaN()} }

// finite says whether x is a number that is neither negative nor infinite.
func finite(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }
