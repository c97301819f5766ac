package textfmt

import "strings"

const (
	// maxBrief is how many characters [Brief] keeps, and maxQuoted how many of them
	// of the last line.
	maxBrief  = 400
	maxQuoted = 200

	// quoting is how a sentence ends that the output of a program follows.
	quoting = "it printed:"
)

// Brief makes one line of a reason that may quote the output of a program: what
// happened, and the line that explains it, see [ErrorLine]. It is safe for a table, and bounded.
func Brief(reason string) string {
	first, rest, more := strings.Cut(strings.TrimSpace(reason), "\n")
	first = strings.TrimSpace(first)
	last := ErrorLine(rest)
	what, quotes := strings.CutSuffix(first, quoting)
	what = OneLine(strings.TrimRight(what, "; "))
	if !more || last == "" {
		return Bound(what, maxBrief)
	}
	last = Bound(last, maxQuoted)
	if quotes {
		return Bound(what, maxBrief-maxQuoted) + ", saying: " + last
	}
	return Bound(OneLine(first), maxBrief-maxQuoted) + " … " + last
}

// Bound cuts a text to some characters, and says so with an ellipsis.
func Bound(words string, most int) string {
	if len(words) <= most {
		return words
	}
	if runes := []rune(words); len(runes) > most {
		return strings.TrimRight(string(runes[:most-1]), " ") + "…"
	}
	return words
}
