package changes

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapes are the characters that git writes with a letter after the backslash.
const (
	escaped = "\a\b\t\n\v\f\r\"\\"
	letters = `abtnvfr"\`
)

// quote returns a path as git prints it: as it is, or in double quotes if it has a character that
// needs an escape. A byte that is not UTF-8 is an octal escape.
func quote(path string) string {
	var out strings.Builder
	special := false
	for rest := path; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		switch at := strings.IndexRune(escaped, r); {
		case r == utf8.RuneError && n == 1, unicode.IsControl(r) && at < 0:
			special = true
			for i := range n {
				fmt.Fprintf(&out, `\%03o`, rest[i])
			}
		case at >= 0:
			special = true
			out.WriteByte('\\')
			out.WriteByte(letters[at])
		default:
			out.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	if !special {
		return path
	}
	return `"` + out.String() + `"`
}

var errQuotes = errors.New("the path begins with a double quote but is not written as git writes it")

// unquote returns the path that git, or quote, has written.
func unquote(text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	path, rest, err := unquotePrefix(text)
	if err == nil && rest != "" {
		err = errQuotes
	}
	return path, err
}

// unquotePrefix returns the path in double quotes at the beginning of text, and the rest of text.
func unquotePrefix(text string) (path, rest string, err error) {
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return out.String(), text[i+1:], nil
		case c != '\\':
			out.WriteByte(c)
		case i+1 < len(text) && strings.IndexByte(letters, text[i+1]) >= 0:
			out.WriteByte(escaped[strings.IndexByte(letters, text[i+1])])
			i++
		default:
			var b byte
			if i+3 >= len(text) || !isOctal(text[i+1:i+4]) {
				return "", "", errQuotes
			}
			for _, digit := range text[i+1 : i+4] {
				b = b<<3 | byte(digit-'0')
			}
			out.WriteByte(b)
			i += 3
		}
	}
	return "", "", errQuotes
}

// isOctal reports whether text, of three characters, is the octal form of a byte.
func isOctal(text string) bool {
	return text[0] >= '0' && text[0] <= '3' && strings.Trim(text, "01234567") == ""
}
