// Package stats has the statistics of reports: survival curves and tests on them,
// cumulative incidence, intervals and tests for rates and for pairs, and bootstrap
// intervals. They are pure functions: the same numbers have the same result bit for
// bit, in any order of the observations. Functions that draw random numbers take a
// seed.
//
// # Conventions
//
// Every interval and band is two-sided with 95 % confidence, pointwise for
// curves. Every p value is two-sided, except that of [Worse].
//
// A result that is not defined is NaN, and each function says when. No function panics
// or guesses. An observation is invalid if its time is negative or not finite, its
// cause is negative, or its weight is negative or not finite. No result on an invalid
// observation is defined.
//
// At the same time, events come before censorings, as in R: an observation that is
// censored at t was at risk of the events at t.
//
// # Units and trials
//
// Inference counts units (scenarios, recorded runs), not trials. So m trials of one
// unit are observations of weight 1/m ([Pool] sets the weights), and a unit weighs 1,
// no matter how often it was tried. The numbers at risk and of events are then sums of
// weights, and m equal trials count as much as one. Trials that differ carry more
// information than one, but formulas for independent observations cannot use it: with
// weights, [KaplanMeier], [CumulativeIncidence] and [LogRank] err on the cautious side.
// [WilsonUnits], [ClusterBands] and [ClusterIncidence] use it: they estimate how far
// units differ, and trials of units that hardly differ count for more (the effective
// n). [QuantileInterval] and [Bootstrap] do so too: they resample units, each
// with all its trials.
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
//   - Clopper and Pearson 1934, Biometrika 26:404 (the exact limit where nothing
//     has happened).
//   - Williams 2000, Biometrics 56:645 (variance between clusters). Korn and Graubard
//     1998, Survey Methodology 24:193; Dean and Pagano 2015, J. Surv. Stat. Methodol.
//     3:484 (effective n).
//   - Wilson 1927, JASA 22:209. Newcombe 1998, Stat. Med. 17:857.
//   - McNemar 1947, Psychometrika 12:153. Liddell 1983, J. Epidemiol. Community
//     Health 37:82 (the exact test).
//   - Cochran 1954, Biometrics 10:417. Mantel 1963, JASA 58:690. Mehta, Patel and Gray
//     1985, JASA 80:969 (exact tests over strata).
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

// An Interval is an estimate with its 95 % interval. A part that is not defined is NaN.
// For an upper limit of times, NaN means that the data do not bound it.
type Interval struct{ Value, Lower, Upper float64 }

// undefined returns an interval without any defined part.
func undefined() Interval { return Interval{math.NaN(), math.NaN(), math.NaN()} }

// finite reports whether x is a number that is neither negative nor infinite.
func finite(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }
