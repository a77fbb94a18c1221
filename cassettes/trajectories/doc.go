// Package trajectories reads runs that other agents recorded and replays them
// under any safety config.
//
// [Find] expands paths into files, [Read] decodes the trajectories in one file,
// whatever its format, and [Replay] feeds their replies and results to the loop.
// [Recordings] do so for all files in paths, a trajectory at a time.
//
//	runs := trajectories.NewRecordings(trajectories.Reader{}, []string{"runs/"}, nil)
//	err := trajectories.Replay(ctx, runs.All(), variants, 0, func(r *scenarios.Result) error { … })
//	problems := runs.Problems()
//
// A format is one file of this package and its name in the list formats. Most
// decode their own frame and leave the messages of an LLM API to package wire.
//
// A trajectory is data from a stranger. It is capped, never executed and never
// taken as an instruction.
package trajectories
