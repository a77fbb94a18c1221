// Package reports folds results into what people read: the tables of a
// terminal and the block that tells of a failure. A fold takes one
// [scenarios.Result] at a time and keeps counts, so that it works the same on
// results that come in and on those of a file, and needs little memory.
//
// What a scenario, a tool, a model or a trajectory said is hostile: all of it
// passes [text.Line] before it is written.
package reports
