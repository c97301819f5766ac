package vt

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrNotText is returned for input that is not valid UTF-8.
var ErrNotText = errors.New("not valid UTF-8 text")

// ControlError is returned for input that holds a character which the program could take
// for a key or a command instead of text.
type ControlError struct {
	Offset int  // byte offset in the text
	Rune   rune // the character
}

func (e *ControlError) Error() string {
	return fmt.Sprintf("text holds control character %U at byte %d, which would act as a key; remove it or send it as a key", e.Rune, e.Offset)
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// Paste returns the bytes that deliver text as one paste to a program with modes m: in
// brackets when it asked for bracketed paste, else as [Type] does. In brackets \n, \r and
// \t are content. What cannot arrive byte for byte is refused with [ErrNotText] or a
// [*ControlError].
func Paste(text string, m Modes) ([]byte, error) {
	if !m.BracketedPaste {
		return Type(text)
	}
	if err := checkText(text, "\t\n\r"); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(text)+len(pasteStart)+len(pasteEnd))
	out = append(out, pasteStart...)
	out = append(out, text...)
	return append(out, pasteEnd...), nil
}

// Type returns the bytes that type text without brackets. As every control character is a
// key then, only \t is accepted beside text: a \n or \r is refused with a
// [*ControlError], as it would submit half of the text.
func Type(text string) ([]byte, error) {
	if err := checkText(text, "\t"); err != nil {
		return nil, err
	}
	return []byte(text), nil
}

// TypeLines is [Type] for a program that takes each line for itself: \n and \r\n become
// the Enter key (CR). A lone \r is refused.
func TypeLines(text string) ([]byte, error) {
	lines := strings.ReplaceAll(text, "\r\n", "\n")
	if err := checkText(lines, "\t\n"); err != nil {
		return nil, err
	}
	return []byte(strings.ReplaceAll(lines, "\n", "\r")), nil
}

// checkText reports the first thing in text that is not text; controls in allowed are.
func checkText(text, allowed string) error {
	if !utf8.ValidString(text) {
		return ErrNotText
	}
	for i, r := range text {
		if (r < 0x20 || r >= 0x7f && r < 0xa0) && !strings.ContainsRune(allowed, r) {
			return &ControlError{Offset: i, Rune: r}
		}
	}
	return nil
}
