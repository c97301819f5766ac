package cleanup

import (
	"os"
	"slices"

	"gascity/internal/proc"
)

// Orphans returns the processes of a city's agents that belong to none of the sessions with the
// given instance tokens. It excludes the ancestors of this process, because an agent may have
// called it.
func Orphans(root string, tokens map[string]bool) []int {
	matches, err := new(proc.EnvScanner).FindByEnv(markKey, root)
	if err != nil && len(matches) == 0 {
		return nil
	}
	mine := ancestors()
	var out []int
	for _, m := range matches {
		if token := m.Get("GC_INSTANCE_TOKEN"); token != "" && !tokens[token] && !mine[m.PID] {
			out = append(out, m.PID)
		}
	}
	slices.Sort(out)
	return out
}

// ancestors returns the PIDs of this process and of its ancestors.
func ancestors() map[int]bool {
	mine := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !mine[pid]; {
		mine[pid] = true
		info, err := proc.Stat(pid)
		if err != nil {
			break
		}
		pid = info.PPID
	}
	return mine
}
