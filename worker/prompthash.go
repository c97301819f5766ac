package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// PromptHash returns the hash of a prompt's words: the SHA-256, in hexadecimal digits, of its words
// with one space between them. So it does not depend on white space, which agent CLIs change in a
// pasted text. It returns "" for a text without words. See [Detail.PromptHash].
func PromptHash(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) })
	if len(words) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(words, " ")))
	return hex.EncodeToString(sum[:])
}
