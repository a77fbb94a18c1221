// Package shapes reads and writes the shapes of recorded runs, and holds those of
// public runs.
//
// A shape is a recorded run without a word of anybody's content: which call was made,
// which result it had, which results were errors, who spoke when. One line is one run:
//
//	17 failure task=4 u a1=1 b1=2+b2=3 b2=3! .
//
// docs/shapes.md has the grammar. [Parse] reads shapes, [Run.Append] writes them, and
// [Embedded] returns the corpora in the binary. Package trajectories turns a recorded
// run into its shape and replays both.
package shapes
