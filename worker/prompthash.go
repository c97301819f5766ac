package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// PromptHash names a prompt by its words, see [Detail.PromptHash]: agent CLIs change the
// white space of what is pasted. A text without words has no name.
func PromptHash(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) })
	if len(words) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(words, " ")))
	return hex.EncodeToString(sum[:])
}
