package agentcli

import (
	"cmp"
	"strconv"
	"strings"
)

// hint returns the last part of an error about an unknown name: a similar known name, if there is
// one, and all known names.
func hint(name string, known []string) string {
	text := ""
	if near := closest(name, known); near != "" {
		text = ": did you mean " + strconv.Quote(near) + "?"
	}
	if len(known) == 0 {
		return text
	}
	return text + " (known: " + strings.Join(known, ", ") + ")"
}

// closest returns the known name with the fewest edits from name. At most a third of its length may
// differ; empty if there is none.
func closest(name string, known []string) string {
	best, bestEdits := "", len(name)/3+1
	for _, candidate := range known {
		if n := edits(strings.ToLower(name), candidate); n < bestEdits || n == bestEdits && best == "" && n <= 1 {
			best, bestEdits = candidate, n
		}
	}
	return best
}

// edits returns the Levenshtein distance of a and b in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
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

// part returns the number at index i, or 0 if there is none.
func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // a part that is not a number counts as 0
	return n
}
