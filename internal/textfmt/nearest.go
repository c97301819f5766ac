package textfmt

import "strings"

// Nearest returns the name that is most similar to the word; empty if no name is similar. At most a third of the
// word may differ, or one character of a short word.
func Nearest(word string, names []string) string {
	best, distance := "", max(1, len(word)/3)+1
	for _, name := range names {
		if d := EditDistance(strings.ToLower(word), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// EditDistance returns the Levenshtein distance, where a swap of adjacent characters counts as one
// change.
func EditDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last := make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := range s {
		row := make([]int, len(t)+1)
		row[0] = i + 1
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(t)]
}
