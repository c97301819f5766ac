package textfmt

import "strings"

const (
	// maxBrief is the length of [Brief] in characters, and maxQuoted the length of the quoted output line in it.
	maxBrief  = 400
	maxQuoted = 200

	// quoting is the end of a sentence after which the output of a program follows.
	quoting = "it printed:"
)

// Brief returns one line for a reason that may quote the output of a program. The line has the first line of reason and the
// output line that explains the failure, see [ErrorLine]. It is safe for a table and at most 400 characters long.
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

// Bound cuts a text to at most maxLength characters and marks a cut with an ellipsis.
func Bound(words string, maxLength int) string {
	if len(words) <= maxLength {
		return words
	}
	if runes := []rune(words); len(runes) > maxLength {
		return strings.TrimRight(string(runes[:maxLength-1]), " ") + "…"
	}
	return words
}

// Truncate returns at most limit bytes of text, without a partial character at the end.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}
