package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Distinct returns an error that lists every clash if two agents have the same session name. names
// maps each agent to its session name. Names that differ only in case count as equal, because a
// driver may use them as file names. The default scheme always passes; a template may not.
func Distinct(names map[string]string) error {
	holders := map[string][]string{}
	for _, agent := range slices.Sorted(maps.Keys(names)) {
		key := strings.ToLower(names[agent])
		holders[key] = append(holders[key], agent)
	}
	var clashes []string
	for _, name := range slices.Sorted(maps.Keys(holders)) {
		if agents := holders[name]; len(agents) > 1 {
			clashes = append(clashes, fmt.Sprintf("%q are all %s", agents, name))
		}
	}
	if len(clashes) == 0 {
		return nil
	}
	return fmt.Errorf("session names are not distinct: %s; use {{.Agent}} in session_template", strings.Join(clashes, "; "))
}
