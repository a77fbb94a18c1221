// Package trajectories reads what other agents recorded, and replays it under any
// safety config.
//
// [Find] expands files, folders and globs, [Read] reads the trajectories of one
// file into [Trajectory]s, whatever their format, and [Replay] feeds their
// replies and results to the loop.
//
// What a trajectory says is data from a stranger: it is capped, never executed,
// and never taken as an instruction.
package trajectories
