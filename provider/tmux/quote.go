package tmux

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxWords is the limit of words in one command. The parser of tmux puts all words on a stack that overflows at a few
// thousand.
const maxWords = 1000

// errNUL reports a word with a NUL byte, which cannot be sent to tmux.
var errNUL = fmt.Errorf("%w: it contains a NUL byte", errWord)

// appendQuoted appends a word without a NUL byte in double quotes, on one line. The command parser of tmux restores the word
// byte for byte.
func appendQuoted(to []byte, word string) []byte {
	to = append(to, '"')
	start := 0 // of the bytes that need no escape
	for i := 0; i < len(word); {
		if word[i] >= utf8.RuneSelf {
			if _, size := utf8.DecodeRuneInString(word[i:]); size > 1 {
				i += size
				continue
			}
		} else if !isSpecial(word[i]) {
			i++
			continue
		}
		to = appendEscaped(append(to, word[start:i]...), word[i])
		i++
		start = i
	}
	return append(append(to, word[start:]...), '"')
}

// isSpecial reports whether an ASCII byte must be escaped inside double quotes.
func isSpecial(c byte) bool {
	return c < ' ' || c == '"' || c == '\\' || c == '$' || c == '~' || c == 0x7f
}

// appendEscaped appends the escape sequence of a byte inside double quotes. The tilde has an octal escape, because tmux
// expands a tilde after an opening quote too.
func appendEscaped(to []byte, c byte) []byte {
	if c == '"' || c == '\\' || c == '$' {
		return append(to, '\\', c)
	}
	return append(to, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
}

// isPlain reports whether the word needs no quotes.
func isPlain(word string) bool {
	if word == "" {
		return false
	}
	for i := range len(word) {
		c := word[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == '.', c == '/', c == ':', c == '@':
		case i > 0 && (c == '%' || c == '=' || c == ','):
		default:
			return false
		}
	}
	return true
}

// splitLines returns the lines of the text; nil if the text is empty.
func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(text, []byte("\n"))), "\n")
}
