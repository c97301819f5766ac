package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NamesCommand reports whether a text begins like a command of an agent CLI: with a slash and a
// letter, a digit or "_". A slash before anything else does not name a command, but in an input
// box it could run the first command of a list.
func NamesCommand(text string) bool {
	name, ok := strings.CutPrefix(text, "/")
	first, _ := utf8.DecodeRuneInString(name)
	return ok && (unicode.IsLetter(first) || unicode.IsDigit(first) || first == '_')
}
