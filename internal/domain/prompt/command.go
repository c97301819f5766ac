package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NamesCommand reports whether the agent CLI would take a prompt as one of its own commands, such
// as "/clear": it begins with a slash and a letter, a digit or "_".
func NamesCommand(text string) bool {
	name, ok := strings.CutPrefix(text, "/")
	first, _ := utf8.DecodeRuneInString(name)
	return ok && (unicode.IsLetter(first) || unicode.IsDigit(first) || first == '_')
}
