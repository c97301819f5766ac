package agentcli

import (
	"cmp"
	"strconv"
	"strings"

	"gascity/internal/textfmt"
)

// hint returns the end of a message about an unknown name: a similar known name, if there is one,
// and all known names.
func hint(name string, known []string) string {
	text := ""
	if near := textfmt.Nearest(name, known); near != "" {
		text = ": did you mean " + strconv.Quote(near) + "?"
	}
	if len(known) == 0 {
		return text
	}
	return text + " (known: " + strings.Join(known, ", ") + ")"
}

// compareVersions compares dotted versions by their numbers ("2.1.9" < "2.1.10"). A missing part,
// or one that is not a number, counts as 0.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if c := cmp.Compare(part(as, i), part(bs, i)); c != 0 {
			return c
		}
	}
	return 0
}

// part returns the number at the index i, or 0 if there is no such part or it is not a number.
func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // a part that is not a number counts as 0
	return n
}
