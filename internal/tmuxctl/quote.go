package tmuxctl

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxWords bounds the words of one command: the parser of tmux puts them all on a stack
// that overflows at some thousands.
const maxWords = 1000

// Quote writes a word so that the command parser of tmux yields it byte for byte, on one
// line. A NUL byte is ErrWord.
func Quote(word string) (string, error) {
	if strings.IndexByte(word, 0) >= 0 {
		return "", fmt.Errorf("%w: it holds a NUL byte", ErrWord)
	}
	if isPlain(word) {
		return word, nil
	}
	return quoted(word), nil
}

// quoted is a word without a NUL byte in double quotes.
func quoted(word string) string {
	var b strings.Builder
	b.Grow(len(word) + 16)
	b.WriteByte('"')
	for rest := word; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\%03o`, rest[0])
		} else {
			quoteRune(&b, r)
		}
		rest = rest[size:]
	}
	b.WriteByte('"')
	return b.String()
}

// quoteRune writes one rune inside double quotes. The tilde is written by its number:
// tmux expands it behind an opening quote too.
func quoteRune(b *strings.Builder, r rune) {
	switch {
	case r == '"' || r == '\\' || r == '$':
		b.WriteByte('\\')
		b.WriteRune(r)
	case r < ' ' || r == 0x7f || r == '~':
		fmt.Fprintf(b, `\%03o`, r)
	default:
		b.WriteRune(r)
	}
}

// isPlain tells whether the word means itself without quotes.
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
