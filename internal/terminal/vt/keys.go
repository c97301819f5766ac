package vt

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
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

// keyTable has the keys with names.
type keyTable struct {
	names []string           // as tmux calls the keys
	codes map[string]keyCode // by the name in lower case
}

// namedKeys returns the keys with names.
var namedKeys = sync.OnceValue(func() keyTable {
	t := keyTable{codes: map[string]keyCode{}}
	add := func(code keyCode, names ...string) {
		for _, name := range names {
			t.names = append(t.names, name)
			t.codes[strings.ToLower(name)] = code
		}
	}
	add(char('\r'), "Enter")
	add(char(0x1b), "Escape")
	add(char('\t'), "Tab")
	add(cursorKey('Z'), "BTab")
	add(char(' '), "Space")
	add(char(0x7f), "BSpace")
	add(cursorKey('A'), "Up")
	add(cursorKey('B'), "Down")
	add(cursorKey('D'), "Left")
	add(cursorKey('C'), "Right")
	add(cursorKey('H'), "Home")
	add(cursorKey('F'), "End")
	add(tilde(5), "PageUp", "PgUp", "PPage")
	add(tilde(6), "PageDown", "PgDn", "NPage")
	add(tilde(2), "IC", "Insert")
	add(tilde(3), "DC", "Delete")
	for i, final := range []byte("PQRS") {
		add(keyCode{kind: keySS3, final: final}, "F"+strconv.Itoa(i+1))
	}
	for i, n := range [...]int{15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34} {
		add(tilde(n), "F"+strconv.Itoa(i+5))
	}
	for i, r := range "0123456789/*-+." { // of the numeric keypad
		add(pad(r, "pqrstuvwxyojmkn"[i]), "KP"+string(r))
	}
	add(pad('\r', 'M'), "KPEnter")
	return t
})

// Key returns the bytes of a key press for a program with modes m. The names are those of tmux, in upper or lower case:
// Enter, Up, F5, KP0, or a single character, with prefixes C-, M- and S- in any order; ^x means C-x. For an unknown name it
// returns a [*KeyError].
func Key(name string, m Modes) ([]byte, error) {
	mods, base := splitModifiers(name)
	code, ok := namedKeys().codes[strings.ToLower(base)]
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
	for _, known := range namedKeys().names {
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
