package vt

import "github.com/clipperhouse/displaywidth"

// runeWidth returns the columns of r: 0, 1 or 2. It is the library's width with the
// exceptions of the C library that tmux asks, because programs, tmux and we must
// agree on where the cursor is.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1 // callers have handled C0, DEL and C1
	case r < 0x600:
		if r < 0x370 || r >= 0x483 {
			return displaywidth.Rune(r)
		}
		return 1 // Greek and Cyrillic
	case r >= 0x2500 && r < 0x25fd:
		return 1 // box drawing, blocks, most geometric shapes
	case r >= 0x2800 && r < 0x2900:
		return 1 // braille, as in spinners
	}
	if w := widthException(r); w >= 0 {
		return w
	}
	return displaywidth.Rune(r)
}

// widthException returns the width of r where glibc differs from the library, else -1.
func widthException(r rune) int {
	switch {
	case r >= 0x1160 && r <= 0x11ff, r >= 0xd7b0 && r <= 0xd7fb: // conjoining jamo
		return 0
	case r >= 0x600 && r <= 0x605, r == 0x6dd, r == 0x70f, r == 0x890, r == 0x891, r == 0x8e2,
		r == 0x110bd, r == 0x110cd: // visible format characters
		return 1
	case r >= 0x2630 && r <= 0x2637, r >= 0x268a && r <= 0x268f, // trigrams
		r >= 0x1d300 && r <= 0x1d376, // Tai Xuan Jing, counting rods
		r >= 0x1f1e6 && r <= 0x1f1ff: // regional indicators
		return 1
	case r >= 0x3248 && r <= 0x324f: // circled numbers on black squares
		return 2
	}
	return -1
}
