package vt

import (
	"bytes"
	"strconv"
)

// Answers to queries. They are those of tmux. For queries that tmux does not answer, they are those of xterm.

const (
	defaultForeground = "rgb:d8d8/d8d8/d8d8"
	defaultBackground = "rgb:0000/0000/0000"

	cellWidth, cellHeight = 8, 16 // pixels, for size reports
)

// reply answers a query that the program in the terminal has sent. It does nothing if the options have no function for replies.
func (s *Screen) reply(parts ...string) {
	if s.opts.Reply == nil {
		return
	}
	buf := s.replyBuf[:0]
	for _, p := range parts {
		buf = append(buf, p...)
	}
	s.replyBuf = buf
	s.opts.Reply(buf)
}

func (s *Screen) deviceAttributes()  { s.reply("\x1b[?1;2c") }
func (s *Screen) deviceAttributes2() { s.reply("\x1b[>84;0;0c") }
func (s *Screen) deviceAttributes3() { s.reply("\x1bP!|00000000\x1b\\") }
func (s *Screen) terminalVersion()   { s.reply("\x1bP>|gc\x1b\\") }

// deviceStatus answers DSR: 5 queries the state, 6 the cursor position.
func (s *Screen) deviceStatus(n int) {
	switch n {
	case 5:
		s.reply("\x1b[0n")
	case 6:
		s.reply("\x1b[", s.position(), "R")
	}
}

// privateStatus answers DECDSR.
func (s *Screen) privateStatus(n int) {
	switch n {
	case 6:
		s.reply("\x1b[?", s.position(), ";1R")
	case 996: // colour scheme: dark
		s.reply("\x1b[?997;1n")
	}
}

// position returns the cursor's row and column, counted from 1, in origin mode from the
// scroll region.
func (s *Screen) position() string {
	y := s.cy
	if s.modes.Origin {
		y = max(0, y-s.top)
	}
	return strconv.Itoa(y+1) + ";" + strconv.Itoa(min(s.cx, s.cols-1)+1)
}

// reportMode answers the query of a program whether mode n is set (DECRQM).
func (s *Screen) reportMode(n int) {
	if s.seq.prefix == '?' {
		s.reply("\x1b[?", strconv.Itoa(n), ";", strconv.Itoa(s.modeState(n)), "$y")
		return
	}
	state := 0
	switch n {
	case 4:
		state = setOrReset(s.modes.Insert)
	case 20:
		state = setOrReset(s.modes.NewLine)
	}
	s.reply("\x1b[", strconv.Itoa(n), ";", strconv.Itoa(state), "$y")
}

// windowOps executes XTWINOPS: size reports and the title stack. It ignores requests to move the window.
func (s *Screen) windowOps() {
	n, ok := s.seq.params.get(0, 0)
	if !ok {
		return
	}
	size := func(code, h, w int) {
		s.reply("\x1b[", strconv.Itoa(code), ";", strconv.Itoa(h), ";", strconv.Itoa(w), "t")
	}
	switch n {
	case 11:
		s.reply("\x1b[1t")
	case 14:
		size(4, s.rows*cellHeight, s.cols*cellWidth)
	case 15:
		size(5, s.rows*cellHeight, s.cols*cellWidth)
	case 16:
		size(6, cellHeight, cellWidth)
	case 18:
		size(8, s.rows, s.cols)
	case 19:
		size(9, s.rows, s.cols)
	case 22, 23:
		s.titleStack(n)
	}
}

// titleStack pushes or pops the window title.
func (s *Screen) titleStack(n int) {
	what, ok := s.seq.params.get(1, 0)
	switch {
	case !ok || what != 0 && what != 2:
	case n == 22:
		s.pushTitle()
	default:
		s.popTitle()
	}
}

// terminator ends an answer to an OSC query the way the query ended.
func (s *Screen) terminator() string {
	if s.seq.final == '\a' {
		return "\a"
	}
	return "\x1b\\"
}

// colorQuery answers OSC 10, 11 and 12: foreground, background and cursor colour.
// Setting them is ignored.
func (s *Screen) colorQuery(number int, rest []byte) {
	for part := range bytes.SplitSeq(rest, []byte{';'}) {
		if string(part) == "?" && number <= 12 {
			color := defaultForeground
			if number == 11 {
				color = defaultBackground
			}
			s.reply("\x1b]", strconv.Itoa(number), ";", color, s.terminator())
		}
		number++
	}
}

// paletteQuery answers OSC 4 with the colours of xterm's palette.
func (s *Screen) paletteQuery(rest []byte) {
	parts := bytes.Split(rest, []byte{';'})
	for i := 0; i+1 < len(parts); i += 2 {
		n, err := strconv.Atoi(string(parts[i]))
		if err != nil || n < 0 || n > 255 || string(parts[i+1]) != "?" {
			continue
		}
		s.reply("\x1b]4;", strconv.Itoa(n), ";", paletteColor(n), s.terminator())
	}
}

// paletteColor returns colour n of xterm's 256-colour palette in X11 notation.
func paletteColor(n int) string {
	basic := [16]uint32{
		0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
		0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
	}
	level := func(i int) uint32 {
		if i == 0 {
			return 0
		}
		return uint32(55 + 40*i)
	}
	var v uint32
	switch {
	case n < 16:
		v = basic[n]
	case n < 232:
		n -= 16
		v = level(n/36)<<16 | level(n/6%6)<<8 | level(n%6)
	default:
		v = uint32(8+10*(n-232)) * 0x010101
	}
	buf := []byte("rgb:")
	for shift := 16; shift >= 0; shift -= 8 {
		const digits = "0123456789abcdef"
		hi, lo := digits[v>>shift>>4&15], digits[v>>shift&15]
		buf = append(buf, hi, lo, hi, lo)
		if shift > 0 {
			buf = append(buf, '/')
		}
	}
	return string(buf)
}

// dcs answers DECRQSS and XTGETTCAP; other device control strings are ignored.
func (s *Screen) dcs() {
	q := &s.seq
	switch {
	case q.final != 'q' || q.inters != 1:
	case q.inter == '+':
		s.reply("\x1bP0+r\x1b\\")
	case q.inter == '$':
		s.reportSetting(string(q.str))
	}
}

// reportSetting answers the query of a program for a setting of the terminal, such as the cursor shape (DECRQSS).
func (s *Screen) reportSetting(what string) {
	var value string
	switch what {
	case "m":
		value = "0" + string(s.appendSGR(nil, &s.pen))
	case "r":
		value = strconv.Itoa(s.top+1) + ";" + strconv.Itoa(s.bottom+1)
	case " q":
		value = strconv.Itoa(int(s.cursor))
	default:
		s.reply("\x1bP0$r\x1b\\")
		return
	}
	s.reply("\x1bP1$r", value, what, "\x1b\\")
}
