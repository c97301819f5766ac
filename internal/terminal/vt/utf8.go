package vt

import "unicode/utf8"

// partial is a UTF-8 character that is not complete yet.
type partial struct {
	buf  [4]byte
	have int
	need int // 0: none begun
}

// collected returns the bytes collected so far.
func (u *partial) collected() int {
	if u.need == 0 {
		return 0
	}
	return u.have
}

// highByte collects UTF-8 byte by byte. A broken character is dropped, as tmux does.
func (s *Screen) highByte(b byte) {
	u := &s.utf8
	s.last.ok = false
	if u.need == 0 {
		switch {
		case b >= 0xc2 && b <= 0xdf:
			u.need = 2
		case b >= 0xe0 && b <= 0xef:
			u.need = 3
		case b >= 0xf0 && b <= 0xf4:
			u.need = 4
		default:
			return
		}
		u.buf[0], u.have = b, 1
		return
	}
	u.buf[u.have] = b
	u.have++
	if u.have < u.need {
		return
	}
	u.need = 0
	if r, n := utf8.DecodeRune(u.buf[:u.have]); n == u.have {
		s.printRune(r)
	}
}
