package runtime

import (
	"fmt"
	"strings"
)

// MaxNameLen is the maximum length of a session name in bytes. With it, socket paths and labels
// stay within the limits of every backend.
const MaxNameLen = 128

// ValidateName returns an error that matches [ErrInvalidName] unless name can be a session name in
// every driver: 1 to [MaxNameLen] bytes of ASCII letters, digits, "-", "_", not beginning with "-".
// Every driver calls it in Start before any side effect. In other operations an invalid name is a
// missing session.
func ValidateName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: it is empty", ErrInvalidName)
	}
	if len(name) > MaxNameLen {
		return fmt.Errorf("%w: %.20q... has %d bytes, at most %d are allowed", ErrInvalidName, name, len(name), MaxNameLen)
	}
	if name[0] == '-' {
		return fmt.Errorf("%w: %q begins with a dash", ErrInvalidName, name)
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return !nameRune(r) }); i >= 0 {
		return fmt.Errorf("%w: %q has a character at byte %d that is not a letter, a digit, \"-\" or \"_\"", ErrInvalidName, name, i)
	}
	return nil
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}
