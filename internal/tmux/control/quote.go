package control

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxWords bounds the words of one command: the parser of tmux puts them all on a stack
// that overflows at some thousands.
const maxWords = 1000

// errNUL reports a word that tmux cannot be given.
var errNUL = fmt.Errorf("%w: it holds a NUL byte", ErrWord)

// Quote writes a word so that the command parser of tmux yields it byte for byte, on one
// line. A NUL byte is ErrWord.
func Quote(word string) (string, error) {
	if strings.IndexByte(word, 0) >= 0 {
		return "", errNUL
	}
	if isPlain(word) {
		return word, nil
	}
	return string(appendQuoted(nil, word)), nil
}

// appendQuoted appends a word without a NUL byte in double quotes.
func appendQuoted(to []byte, word string) []byte {
	to = append(to, '"')
	start := 0 // of what stands for itself
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

// isSpecial reports whether an ASCII byte means something else than itself inside double
// quotes.
func isSpecial(c byte) bool {
	return c < ' ' || c == '"' || c == '\\' || c == '$' || c == '~' || c == 0x7f
}

// appendEscaped appends a byte for inside double quotes. The tilde is written by its number:
// tmux expands it behind an opening quote too.
func appendEscaped(to []byte, c byte) []byte {
	if c == '"' || c == '\\' || c == '$' {
		return append(to, '\\', c)
	}
	return append(to, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
}

// isPlain reports whether the word means itself without quotes.
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

// splitLines returns the lines of the text; none when it is empty.
func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(text, []byte("\n"))), "\n")
}
