package vt

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrNotText is returned for input that is not valid UTF-8.
var ErrNotText = errors.New("not valid UTF-8 text")

// ControlError is returned for input with a character that the program could interpret as a key or a command.
type ControlError struct {
	Offset int  // byte offset in the text
	Rune   rune // the character
}

func (e *ControlError) Error() string {
	return fmt.Sprintf("text holds control character %U at byte %d, which would act as a key; remove it or send it as a key", e.Rune, e.Offset)
}

// The sequences around a bracketed paste.
const (
	PasteStart = "\x1b[200~"
	PasteEnd   = "\x1b[201~"
)

// IsFocusReport reports whether input is the report of a terminal that its window got or lost the focus.
func IsFocusReport(p []byte) bool { return string(p) == "\x1b[I" || string(p) == "\x1b[O" }

// Paste returns the bytes that deliver text as one paste to a program with modes m. If the program has turned on bracketed
// paste, the text is in brackets, where \n, \r and \t are content. Otherwise every control character acts as a key, so Paste
// accepts only \t; \n or \r would submit half of the text. For text that could not arrive byte for byte it returns [ErrNotText]
// or a [*ControlError].
func Paste(text string, m Modes) ([]byte, error) {
	allowed, before, after := "\t", "", ""
	if m.BracketedPaste {
		allowed, before, after = "\t\n\r", PasteStart, PasteEnd
	}
	if err := checkText(text, allowed); err != nil {
		return nil, err
	}
	return []byte(before + text + after), nil
}

// checkText returns an error for the first invalid byte or control character in text. It accepts the controls in allowed.
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
