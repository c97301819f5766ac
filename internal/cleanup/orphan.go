package cleanup

import (
	"slices"

	"gascity/internal/proc"
)

// Orphans returns the processes of a city's agents that belong to none of the sessions with the
// given instance tokens. It excludes the ancestors of this process, because an agent may have
// called it.
func Orphans(root string, tokens map[string]bool) []int {
	matches, err := new(proc.AgentScanner).FindByEnv(proc.CityKey, root)
	if err != nil && len(matches) == 0 {
		return nil
	}
	mine := proc.Ancestors()
	var out []int
	for _, m := range matches {
		if token := m.Get(proc.TokenKey); token != "" && !tokens[token] && !mine[m.PID] {
			out = append(out, m.PID)
		}
	}
	slices.Sort(out)
	return out
}
