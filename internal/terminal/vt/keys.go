package vt

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"gascity/internal/textfmt"
)

// KeyError is returned for a key name that is not known.
type KeyError struct {
	Name    string
	Similar string // the closest known name, empty when none is close
}

func (e *KeyError) Error() string {
	if e.Similar == "" {
		return fmt.Sprintf("unknown key %q", e.Name)
	}
	return fmt.Sprintf("unknown key %q, did you mean %q?", e.Name, e.Similar)
}

// modifier bits, as in xterm's parameter minus one.
const (
	modShift = 1
	modMeta  = 2
	modCtrl  = 4
)

// keyKind is the encoding of a named key.
type keyKind uint8

const (
	keyChar   keyKind = iota // a character
	keyCursor                // CSI letter, SS3 in application mode
	keySS3                   // SS3 letter, CSI 1;m letter with modifiers
	keyTilde                 // CSI number ~
	keyPad                   // a character, SS3 letter in application keypad mode
)

// keyCode is a key without modifiers.
type keyCode struct {
	kind  keyKind
	char  rune // keyChar, keyPad
	final byte // keyCursor, keySS3, keyPad
	num   int  // keyTilde
}

func char(r rune) keyCode { return keyCode{kind: keyChar, char: r} }

func cursorKey(final byte) keyCode { return keyCode{kind: keyCursor, final: final} }

func tilde(n int) keyCode { return keyCode{kind: keyTilde, num: n} }

func pad(r rune, final byte) keyCode { return keyCode{kind: keyPad, char: r, final: final} }

// namedKey returns the key of a name in lower case.
func namedKey(name string) (keyCode, bool) {
	switch name {
	case "enter":
		return char('\r'), true
	case "escape":
		return char(0x1b), true
	case "tab":
		return char('\t'), true
	case "space":
		return char(' '), true
	case "bspace":
		return char(0x7f), true
	case "btab":
		return cursorKey('Z'), true
	case "up":
		return cursorKey('A'), true
	case "down":
		return cursorKey('B'), true
	case "right":
		return cursorKey('C'), true
	case "left":
		return cursorKey('D'), true
	case "home":
		return cursorKey('H'), true
	case "end":
		return cursorKey('F'), true
	case "ic", "insert":
		return tilde(2), true
	case "dc", "delete":
		return tilde(3), true
	case "pageup", "pgup", "ppage":
		return tilde(5), true
	case "pagedown", "pgdn", "npage":
		return tilde(6), true
	}
	if k, ok := functionKey(name); ok {
		return k, true
	}
	return keypadKey(name)
}

// functionKey returns F1 to F20.
func functionKey(name string) (keyCode, bool) {
	digits, ok := strings.CutPrefix(name, "f")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || n > 20 || digits[0] == '0' || digits[0] == '+' {
		return keyCode{}, false
	}
	if n <= 4 {
		return keyCode{kind: keySS3, final: "PQRS"[n-1]}, true
	}
	codes := [...]int{15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34}
	return tilde(codes[n-5]), true
}

// keypadKey returns a key of the numeric keypad: KP0 to KP9, KP/ and so on.
func keypadKey(name string) (keyCode, bool) {
	rest, ok := strings.CutPrefix(name, "kp")
	switch {
	case !ok:
		return keyCode{}, false
	case rest == "enter":
		return pad('\r', 'M'), true
	case len(rest) == 1 && rest[0] >= '0' && rest[0] <= '9':
		return pad(rune(rest[0]), 'p'+rest[0]-'0'), true
	}
	i := strings.Index("/*-+.", rest)
	if len(rest) != 1 || i < 0 {
		return keyCode{}, false
	}
	return pad(rune(rest[0]), "ojmkn"[i]), true
}

// KeyNames returns the names of all keys without modifiers, as tmux calls them. Prefixes
// C-, M- and S- and single characters come on top.
func KeyNames() []string {
	names := []string{
		"Enter", "Escape", "Tab", "BTab", "Space", "BSpace", "Up", "Down", "Left", "Right",
		"Home", "End", "PageUp", "PgUp", "PPage", "PageDown", "PgDn", "NPage", "IC", "Insert",
		"DC", "Delete",
	}
	for n := 1; n <= 20; n++ {
		names = append(names, "F"+strconv.Itoa(n))
	}
	for _, r := range "0123456789/*-+." {
		names = append(names, "KP"+string(r))
	}
	return append(names, "KPEnter")
}

// Key returns the bytes of a key press for a program with modes m. The names are those of tmux, in upper or lower case:
// Enter, Up, F5, KP0, or a single character, with prefixes C-, M- and S- in any order; ^x means C-x. For an unknown name it
// returns a [*KeyError].
func Key(name string, m Modes) ([]byte, error) {
	mods, base := splitModifiers(name)
	code, ok := namedKey(strings.ToLower(base))
	if !ok {
		r, n := utf8.DecodeRuneInString(base)
		if n == 0 || n != len(base) || r == utf8.RuneError || r < 0x20 || r >= 0x7f && r < 0xa0 {
			return nil, &KeyError{Name: name, Similar: similarKey(name, base)}
		}
		code = char(r)
		if mods&modShift != 0 && r >= 'a' && r <= 'z' {
			code.char, mods = r-'a'+'A', mods&^modShift
		}
	}
	return encodeKey(code, mods, m), nil
}

// splitModifiers cuts the prefixes off a key name.
func splitModifiers(name string) (mods int, base string) {
	if len(name) == 2 && name[0] == '^' {
		return modCtrl, name[1:]
	}
	for len(name) > 2 && name[1] == '-' {
		bit := 0
		switch name[0] {
		case 'C', 'c':
			bit = modCtrl
		case 'M', 'm':
			bit = modMeta
		case 'S', 's':
			bit = modShift
		}
		if bit == 0 || mods&bit != 0 {
			break
		}
		mods |= bit
		name = name[2:]
	}
	return mods, name
}

// encodeKey returns the bytes that a terminal in these modes sends for a key with modifiers.
func encodeKey(k keyCode, mods int, m Modes) []byte {
	if b := kittyKey(k, mods, m); b != nil {
		return b
	}
	switch k.kind {
	case keyChar:
	case keyCursor:
		return encodeCursor(k, mods, m)
	case keySS3:
		if mods == 0 {
			return []byte{0x1b, 'O', k.final}
		}
		return withModifier("1", mods, k.final)
	case keyTilde:
		n := strconv.Itoa(k.num)
		if mods == 0 {
			return []byte("\x1b[" + n + "~")
		}
		return withModifier(n, mods, '~')
	case keyPad:
		switch {
		case m.AppKeypad && mods == 0:
			return []byte{0x1b, 'O', k.final}
		case m.AppKeypad && mods == modMeta:
			return []byte{0x1b, 0x1b, 'O', k.final}
		}
	}
	return encodeChar(k.char, mods)
}

// encodeCursor returns the bytes for a cursor key, or for Shift-Tab (final byte Z).
func encodeCursor(k keyCode, mods int, m Modes) []byte {
	switch {
	case k.final == 'Z' && mods&modMeta != 0:
		return []byte("\x1b\x1b[Z")
	case k.final == 'Z':
		return []byte("\x1b[Z")
	case mods != 0:
		return withModifier("1", mods, k.final)
	case m.AppCursorKeys:
		return []byte{0x1b, 'O', k.final}
	}
	return []byte{0x1b, '[', k.final}
}

func withModifier(num string, mods int, final byte) []byte {
	return []byte("\x1b[" + num + ";" + strconv.Itoa(mods+1) + string(rune(final)))
}

// encodeChar encodes a character key in the traditional way: Ctrl clears the upper bits,
// Meta puts ESC before it.
func encodeChar(r rune, mods int) []byte {
	if r == '\t' && mods&modShift != 0 {
		return encodeCursor(cursorKey('Z'), mods&^modShift, Modes{})
	}
	if mods&modCtrl != 0 {
		r = controlOf(r)
	}
	var out []byte
	if mods&modMeta != 0 {
		out = append(out, 0x1b)
	}
	return utf8.AppendRune(out, r)
}

// controlOf returns the control character of Ctrl and r, or r when there is none.
func controlOf(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 1
	case r >= '@' && r <= '_':
		return r - '@'
	case r == ' ' || r == '2':
		return 0
	case r >= '3' && r <= '7':
		return r - '3' + 0x1b
	case r == '?' || r == '8':
		return 0x7f
	case r == '/' || r == '-':
		return 0x1f
	case r == 0x7f: // Ctrl-Backspace
		return 0x08
	}
	return r
}

// similarKey returns the known key name closest to an unknown one.
func similarKey(name, base string) string {
	best, bestDist := "", 3
	low := strings.ToLower(base)
	for alias, known := range keyAliases() {
		if low == alias {
			return strings.TrimSuffix(name, base) + known
		}
	}
	for _, known := range KeyNames() {
		if len(low) < 3 {
			break
		}
		if d := textfmt.EditDistance(low, strings.ToLower(known)); d < bestDist && d < len(known) {
			best, bestDist = known, d
		}
	}
	if best == "" {
		return ""
	}
	return strings.TrimSuffix(name, base) + best
}

// keyAliases are other usual names of keys, in lower case.
func keyAliases() map[string]string {
	return map[string]string{
		"return": "Enter", "cr": "Enter", "esc": "Escape", "backspace": "BSpace", "bs": "BSpace",
		"del": "Delete", "ins": "Insert", "backtab": "BTab", "spacebar": "Space",
		"page-up": "PageUp", "page-down": "PageDown", "pgdown": "PageDown",
	}
}
