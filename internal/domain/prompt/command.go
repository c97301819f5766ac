package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NamesCommand reports whether a text begins as the commands of agent CLIs do: with a slash and a
// letter, a digit or "_". Another text that begins with a slash names none: in an input box a
// slash alone would run the first command of a list.
func NamesCommand(text string) bool {
	name, ok := strings.CutPrefix(text, "/")
	first, _ := utf8.DecodeRuneInString(name)
	return ok && (unicode.IsLetter(first) || unicode.IsDigit(first) || first == '_')
}
