package launch

import (
	"maps"
	"slices"
	"strings"
)

// Environ returns the complete environment of the agent: base without Unset,
// with Vars. The order is that of base, then of names.
func (s Spec) Environ(base []string) []string {
	out := make([]string, 0, len(base)+len(s.Vars))
	for _, entry := range base {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := s.Vars[name]; !replaced && !slices.Contains(s.Unset, name) {
			out = append(out, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Vars)) {
		out = append(out, name+"="+s.Vars[name])
	}
	return out
}
