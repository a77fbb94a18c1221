package probe

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// canSee says that below sees every process of the agent.
const canSee = true

// adopt makes this process the parent of the orphans below it, so that a process that
// leaves the agent's group is still found.
func adopt() {
	const setChildSubreaper = 36
	syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
}

// below returns the processes below this one that have not ended: its children that count,
// and all below those.
func below(counts func(child int) bool) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, zombie := parentOf(pid); parent > 0 && !zombie {
			children[parent] = append(children[parent], pid)
		}
	}
	var found []int
	for _, child := range children[os.Getpid()] {
		if counts(child) {
			found = append(found, child)
		}
	}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// parentOf reads the parent of a process; 0 = it is gone.
func parentOf(pid int) (parent int, zombie bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before may hold anything
	if len(fields) < 2 {
		return 0, false
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	return parent, fields[0][0] == 'Z' || fields[0][0] == 'X'
}
