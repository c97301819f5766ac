package vt

import "strconv"

// Flags of the kitty keyboard protocol that change how a press is written.
const (
	kittyDisambiguate = 1
	kittyAllKeys      = 8
)

// kittyKey encodes a key for a program that enabled the kitty keyboard protocol; nil
// means that the traditional form holds.
func kittyKey(k keyCode, mods int, m Modes) []byte {
	if m.KittyKeyboard&(kittyDisambiguate|kittyAllKeys) == 0 {
		return nil
	}
	all := m.KittyKeyboard&kittyAllKeys != 0
	switch {
	case k.kind == keyCursor && k.final == 'Z':
		k, mods = char('\t'), mods|modShift
	case k.kind == keySS3 && k.final == 'R': // CSI R is a position report
		return kittyNumber("13", mods, '~')
	case k.kind != keyChar && k.kind != keyPad:
		return nil
	}
	switch k.char {
	case 0x1b:
		return kittyNumber("27", mods, 'u')
	case '\r', '\t', 0x7f:
		if mods == 0 && !all {
			return nil
		}
	default:
		if mods&^modShift == 0 && !all {
			return nil
		}
	}
	r := k.char
	if r >= 'A' && r <= 'Z' {
		r, mods = r-'A'+'a', mods|modShift
	}
	return kittyNumber(strconv.Itoa(int(r)), mods, 'u')
}

// kittyNumber returns the key sequence CSI num final, with the modifiers mods if there are any.
func kittyNumber(num string, mods int, final byte) []byte {
	if mods == 0 {
		return []byte("\x1b[" + num + string(rune(final)))
	}
	return withModifier(num, mods, final)
}
