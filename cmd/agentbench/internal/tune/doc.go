// Package tune searches for the limits that suit recorded runs.
//
// [Candidates] lists rules over a grid. [Measure] replays every run under every rule,
// once, and keeps where the rule first stops it. [Measured.Choose] picks a rule, a pair
// of rules or a preset within a budget of good runs stopped, by cross-validation over
// tasks, and says what the choice is worth on tasks that it has not seen.
package tune
