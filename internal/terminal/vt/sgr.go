package vt

// sgr executes "select graphic rendition" (SGR): it changes the colors and attributes of the characters that are
// printed next.
func (s *Screen) sgr() {
	ps := &s.seq.params
	if ps.n == 0 {
		s.plainPen()
		return
	}
	for i := 0; i < ps.n; {
		if ps.more>>i&1 != 0 {
			end := i + 1
			for end < ps.n && ps.more>>(end-1)&1 != 0 {
				end++
			}
			s.sgrColon(ps.v[i:end])
			i = end
			continue
		}
		n := int(max(ps.v[i], 0))
		i++
		if n == 38 || n == 48 || n == 58 {
			i += s.sgrExtended(n, i)
			continue
		}
		s.sgrOne(n)
	}
}

// plainPen resets the pen; a hyperlink stays.
func (s *Screen) plainPen() {
	e := s.extraOf(s.pen.attr)
	e.underline = 0
	s.pen = cell{attr: s.extra(e)}
}

// sgrOne applies one SGR parameter that has no sub-parameters to the style of the next characters.
func (s *Screen) sgrOne(n int) {
	p := &s.pen
	switch {
	case n == 0:
		s.plainPen()
	case n >= 1 && n <= 9:
		s.sgrOn(n)
	case n == 21:
		s.setUnderline(UnderlineDouble)
	case n == 22:
		p.attr &^= uint32(Bold | Dim)
	case n == 24:
		s.setUnderline(UnderlineNone)
	case n >= 23 && n <= 29 && n != 26:
		p.attr &^= uint32(sgrAttr(n - 20))
	case n >= 30 && n <= 37:
		p.fg = Indexed(uint8(n - 30))
	case n == 39:
		p.fg = 0
	case n >= 40 && n <= 47:
		p.bg = Indexed(uint8(n - 40))
	case n == 49:
		p.bg = 0
	case n == 53:
		p.attr |= uint32(Overline)
	case n == 55:
		p.attr &^= uint32(Overline)
	case n == 59:
		s.setUnderlineColor(0)
	case n >= 90 && n <= 97:
		p.fg = Indexed(uint8(n - 90 + 8))
	case n >= 100 && n <= 107:
		p.bg = Indexed(uint8(n - 100 + 8))
	}
}

// sgrOn enables the text attribute of SGR parameter n, 1 to 9.
func (s *Screen) sgrOn(n int) {
	if n == 4 {
		s.setUnderline(UnderlineSingle)
		return
	}
	s.pen.attr |= uint32(sgrAttr(n))
}

// sgrAttr returns the attribute that SGR n sets.
func sgrAttr(n int) Attr {
	switch n {
	case 1:
		return Bold
	case 2:
		return Dim
	case 3:
		return Italic
	case 5, 6:
		return Blink
	case 7:
		return Reverse
	case 8:
		return Conceal
	case 9:
		return Strikethrough
	}
	return 0
}

func (s *Screen) setUnderline(u Underline) {
	s.pen.attr = s.pen.attr&^uint32(underlineMask) | uint32(u)<<underlineShift
}

// setUnderlineColor sets the underline color of the next characters.
func (s *Screen) setUnderlineColor(c Color) {
	e := s.extraOf(s.pen.attr)
	if e.underline == c {
		return
	}
	e.underline = c
	s.setExtra(e)
}

func (s *Screen) setExtra(e extra) {
	s.pen.attr = s.pen.attr&^uint32(extraMask) | s.extra(e)
}

// sgrExtended handles 38, 48 and 58 in their semicolon form; parameter i is the kind of
// colour. It returns the parameters consumed.
func (s *Screen) sgrExtended(what, i int) int {
	ps := &s.seq.params
	at := func(k int) int {
		v, ok := ps.get(i+k, -1)
		if !ok {
			return -1
		}
		return v
	}
	switch at(0) {
	case 2:
		if s.setRGB(what, at(1), at(2), at(3)) {
			return 4
		}
	case 5:
		s.setPalette(what, at(1))
		return 2
	}
	return 1
}

// sgrColon handles one parameter with sub-parameters: underline shapes and colours.
func (s *Screen) sgrColon(v []int32) {
	switch {
	case v[0] == 4 && len(v) == 2:
		if v[1] >= 0 && v[1] <= int32(UnderlineDashed) {
			s.setUnderline(Underline(v[1]))
		}
	case v[0] != 38 && v[0] != 48 && v[0] != 58, len(v) < 3, len(v) > 7:
	case v[1] == 5:
		s.setPalette(int(v[0]), int(v[2]))
	case v[1] == 2:
		i := 3 // after the colour space
		if len(v) == 5 {
			i = 2
		}
		if len(v) >= i+3 {
			s.setRGB(int(v[0]), int(v[i]), int(v[i+1]), int(v[i+2]))
		}
	}
}

// setRGB sets an RGB color, see [Screen.setColor]. It returns false if a value is not from 0 to 255.
func (s *Screen) setRGB(what, r, g, b int) bool {
	if min(r, g, b) < 0 || max(r, g, b) > 255 {
		return false
	}
	s.setColor(what, RGB(uint8(r), uint8(g), uint8(b)))
	return true
}

// setPalette sets a palette colour; an invalid index means the default colour.
func (s *Screen) setPalette(what, n int) {
	switch {
	case n >= 0 && n <= 255:
		s.setColor(what, Indexed(uint8(n)))
	case what != 58:
		s.setColor(what, 0)
	}
}

// setColor sets a color of the next characters. what is 38 for the foreground, 48 for the background
// and 58 for the underline.
func (s *Screen) setColor(what int, c Color) {
	switch what {
	case 38:
		s.pen.fg = c
	case 48:
		s.pen.bg = c
	case 58:
		s.setUnderlineColor(c)
	}
}
