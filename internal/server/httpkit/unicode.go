package httpkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrNotText reports a JSON text whose strings are not valid Unicode. Decoding would change them without an error.
var ErrNotText = errors.New("a string contains bytes that are not UTF-8, or half of a surrogate pair; send text as UTF-8")

// CheckUnicode returns ErrNotText if a valid JSON text contains bytes that are not UTF-8 or an escape that is half of a
// surrogate pair. encoding/json would replace both by U+FFFD.
func CheckUnicode(text []byte) error {
	if !utf8.Valid(text) {
		return ErrNotText
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++ // the escaped byte
		if i >= len(text) || text[i] != 'u' {
			continue
		}
		r := hex4(text, i+1)
		i += 4
		if !utf16.IsSurrogate(r) {
			continue
		}
		low := rune(0)
		if i+2 < len(text) && text[i+1] == '\\' && text[i+2] == 'u' {
			low = hex4(text, i+3)
		}
		if utf16.DecodeRune(r, low) == utf8.RuneError {
			return ErrNotText
		}
		i += 6
	}
	return nil
}

// DecodeStrictly decodes one JSON value. It refuses unknown fields, and strings that are not valid Unicode.
func DecodeStrictly(text []byte, into any) error {
	if err := CheckUnicode(text); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("there is more than one value")
	}
	return nil
}

// hex4 returns the number that the four hexadecimal digits at the given index of text represent; zero if they are not digits.
func hex4(text []byte, at int) rune {
	n, err := strconv.ParseUint(string(text[at:min(at+4, len(text))]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
