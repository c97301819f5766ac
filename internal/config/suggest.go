package config

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"gascity/internal/textfmt"
)

// suggest returns a hint for a word that is not in names: the name that was probably meant or, if
// none is similar and there are at most 16, all of them. Otherwise the hint is empty.
func suggest(word string, names []string) string {
	best := textfmt.Nearest(word, names)
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(names) == 0 || len(names) > 16:
		return ""
	}
	return "known: " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// Suggest returns a hint for a word that is not in names: the name that was probably meant, or all
// names if there are few. It may be empty.
func Suggest(word string, names iter.Seq[string]) string {
	return suggest(word, slices.Sorted(names))
}
