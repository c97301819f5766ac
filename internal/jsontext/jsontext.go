// Package jsontext reads JSON text without reflection, for texts that are read often. Its results are the same as those of
// encoding/json. It has no state and does no I/O.
package jsontext

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// IsObject reports whether a valid JSON text is an object.
func IsObject(raw []byte) bool { return raw[space(raw, 0)] == '{' }

// Members returns the members of a valid JSON object without decoding them: each name with its quotes and escapes, and each
// value without white space around it.
func Members(raw []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		for i := space(raw, space(raw, 0)+1); raw[i] != '}'; i = space(raw, i) {
			if raw[i] == ',' {
				i = space(raw, i+1)
			}
			end := skip(raw, i)
			from := space(raw, space(raw, end)+1) // after the colon
			to := skip(raw, from)
			if !yield(raw[i:end], raw[from:to]) {
				return
			}
			i = to
		}
	}
}

// space returns the index of the first byte at or after i that is not white space.
func space(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r' {
		i++
	}
	return i
}

// skip returns the index after the value that begins at i.
func skip(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = quote(raw, i)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// quote returns the index of the closing quote of the string that begins at i.
func quote(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

// Plain reports whether encoding/json writes the text between quotes without any escape.
func Plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// Text returns the decoded text of a valid JSON string.
func Text(raw []byte) (string, error) {
	inner := raw[1 : len(raw)-1]
	if utf8.Valid(inner) {
		if !slices.Contains(inner, '\\') {
			return string(inner), nil
		}
		if text, ok := unescaped(inner); ok {
			return string(text), nil
		}
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}

// unescaped returns the content of a valid string with its escapes resolved. ok is false if an escape is half of a surrogate
// pair.
func unescaped(inner []byte) (text []byte, ok bool) {
	text = make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' {
			text = append(text, inner[i])
			continue
		}
		i++
		switch c := inner[i]; c {
		case 'u':
			code, err := strconv.ParseUint(string(inner[i+1:i+5]), 16, 16)
			if err != nil || utf16.IsSurrogate(rune(code)) {
				return nil, false
			}
			text = utf8.AppendRune(text, rune(code))
			i += 4
		case 'b':
			text = append(text, '\b')
		case 'f':
			text = append(text, '\f')
		case 'n':
			text = append(text, '\n')
		case 'r':
			text = append(text, '\r')
		case 't':
			text = append(text, '\t')
		default: // a quote, a slash, a backslash
			text = append(text, c)
		}
	}
	return text, true
}
