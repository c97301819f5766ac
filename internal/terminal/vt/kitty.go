package vt

import "strconv"

const kittyDepth = 8

// kittyFlags is a stack of kitty keyboard protocol flags; the last one is in force.
type kittyFlags struct {
	stack [kittyDepth]uint8
	n     int
	base  uint8
}

// flags returns the flags of the Kitty keyboard protocol that are in effect: those at the top of the stack, or the base
// flags if the stack is empty.
func (k *kittyFlags) flags() uint8 {
	if k.n > 0 {
		return k.stack[k.n-1]
	}
	return k.base
}

// push pushes flags on the stack. If the stack is full, it removes the oldest entry.
func (k *kittyFlags) push(f uint8) {
	if k.n == kittyDepth { // the oldest is forgotten
		copy(k.stack[:], k.stack[1:])
		k.n--
	}
	k.stack[k.n] = f
	k.n++
}

func (k *kittyFlags) pop(n int) { k.n = max(0, k.n-n) }

// set changes the flags in force: mode 1 replaces, 2 adds, 3 removes.
func (k *kittyFlags) set(f uint8, mode int) {
	p := &k.base
	if k.n > 0 {
		p = &k.stack[k.n-1]
	}
	switch mode {
	case 1:
		*p = f
	case 2:
		*p |= f
	case 3:
		*p &^= f
	}
}

// kittyStack returns the flags of the current screen: each has its own.
func (s *Screen) kittyStack() *kittyFlags {
	if s.modes.AltScreen {
		return &s.kitty[1]
	}
	return &s.kitty[0]
}

// kittyKeyboard executes CSI ?, >, < and = u: query, push, pop and set.
func (s *Screen) kittyKeyboard() {
	n, ok := s.seq.params.get(0, 0)
	m, ok2 := s.seq.params.get(1, 1)
	if !ok || !ok2 {
		return
	}
	k := s.kittyStack()
	switch s.seq.prefix {
	case '?':
		s.reply("\x1b[?", strconv.Itoa(int(k.flags())), "u")
	case '>':
		k.push(uint8(n & 31))
	case '<':
		k.pop(max(n, 1))
	case '=':
		k.set(uint8(n&31), m)
	}
}
