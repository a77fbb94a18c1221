//go:build unix && !linux

package probe

// canSee says that below sees every process of the agent. Here only the group is
// known: a process that leaves it is not found.
const canSee = false

func adopt() {}

func below(func(int) bool) []int { return nil }
