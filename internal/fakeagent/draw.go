package fakeagent

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// frame is the part of the screen that is redrawn, below the transcript.
type frame struct {
	lines    []string // not wider than the screen
	row, col int      // position of the cursor, from the first line
}

// display draws the screen. It must be used by one goroutine only.
type display interface {
	start()
	print(text string) // adds lines to the transcript
	draw(f frame)      // replaces the frame
	resize(rows, cols int)
	stop()
}

// inline draws on the normal screen, as agents with scrollback do: the transcript scrolls up, and the frame is erased and drawn
// again.
type inline struct {
	out   io.Writer
	last  frame
	drawn bool
}

func (s *inline) start()          {}
func (s *inline) resize(int, int) { s.draw(s.last) }

func (s *inline) print(text string) {
	var b strings.Builder
	s.erase(&b)
	b.WriteString(strings.ReplaceAll(text, "\n", "\r\n") + "\r\n")
	s.paint(&b, s.last)
	s.flush(&b)
}

func (s *inline) draw(f frame) {
	var b strings.Builder
	s.erase(&b)
	s.paint(&b, f)
	s.flush(&b)
}

// stop leaves the frame on the screen and moves the cursor below it.
func (s *inline) stop() {
	if below := len(s.last.lines) - s.last.row; s.drawn && below > 0 {
		fmt.Fprintf(s.out, "\x1b[%dB", below)
	}
	fmt.Fprint(s.out, "\r\n")
}

// erase adds the sequences that erase the frame and hide the cursor.
func (s *inline) erase(b *strings.Builder) {
	b.WriteString("\x1b[?25l\r")
	if s.drawn && s.last.row > 0 {
		fmt.Fprintf(b, "\x1b[%dA", s.last.row)
	}
	b.WriteString("\x1b[J")
	s.drawn = false
}

// paint writes the frame with automatic wrapping turned off. If the terminal computes a different width for a line, the lines
// below it are not moved.
func (s *inline) paint(b *strings.Builder, f frame) {
	s.last = f
	if len(f.lines) == 0 {
		b.WriteString("\x1b[?25h")
		return
	}
	b.WriteString("\x1b[?7l")
	b.WriteString(strings.Join(f.lines, "\r\n"))
	b.WriteString("\x1b[?7h\r")
	if up := len(f.lines) - 1 - f.row; up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up)
	}
	if f.col > 0 {
		fmt.Fprintf(b, "\x1b[%dC", f.col)
	}
	b.WriteString("\x1b[?25h")
	s.drawn = true
}

// flush writes to the terminal. Errors are ignored; the next read fails if the terminal has closed.
func (s *inline) flush(b *strings.Builder) { _, _ = io.WriteString(s.out, b.String()) }

// fullscreen draws the whole screen each time, on the alternate screen.
type fullscreen struct {
	out        io.Writer
	rows, cols int
	history    []string
	last       frame
}

const historyLines = 1000

func (s *fullscreen) start() { _, _ = io.WriteString(s.out, "\x1b[?1049h\x1b[2J\x1b[H") }
func (s *fullscreen) stop()  { _, _ = io.WriteString(s.out, "\x1b[?1049l") }

func (s *fullscreen) resize(rows, cols int) {
	s.rows, s.cols = rows, cols
	s.draw(s.last)
}

func (s *fullscreen) print(text string) {
	for line := range strings.Lines(text) {
		s.history = append(s.history, clip(strings.TrimSuffix(line, "\n"), s.cols))
	}
	s.history = s.history[max(0, len(s.history)-historyLines):]
	s.draw(s.last)
}

// draw draws the end of the transcript and the frame below it.
func (s *fullscreen) draw(f frame) {
	s.last = f
	space := max(0, s.rows-len(f.lines))
	shown := s.history[max(0, len(s.history)-space):]
	var b strings.Builder
	b.WriteString("\x1b[?25l\x1b[?7l")
	row := 1
	for _, line := range shown {
		fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[K", row, line)
		row++
	}
	live := max(row, s.rows-len(f.lines)+1)
	for ; row < live; row++ {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[K", row)
	}
	for i, line := range f.lines {
		fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[K", live+i, line)
	}
	fmt.Fprintf(&b, "\x1b[J\x1b[?7h\x1b[%d;%dH\x1b[?25h", live+f.row, f.col+1)
	_, _ = io.WriteString(s.out, b.String()) // an error is ignored: the next read fails if the terminal has closed
}

// plain writes lines to a pipe and draws no frame.
type plain struct{ out io.Writer }

func (s *plain) start()          {}
func (s *plain) stop()           {}
func (s *plain) draw(frame)      {}
func (s *plain) resize(int, int) {}
func (s *plain) print(text string) {
	_, _ = io.WriteString(s.out, text+"\n") // a closed pipe ends the process by SIGPIPE
}

// printable replaces characters that could control the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < 0x20:
			return '␀' + r
		case r == 0x7f, r >= 0x80 && r < 0xa0, r == unicode.ReplacementChar:
			return '�'
		}
		return r
	}, text)
}

// columns returns the approximate width of a text in columns. That is enough for a frame that is drawn without wrapping.
func columns(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 ||
		r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1f64f || r >= 0x1f900 && r <= 0x1f9ff || r >= 0x20000)
}

// clip cuts a text to at most width columns.
func clip(text string, width int) string {
	if len(text) <= width {
		return text
	}
	used := 0
	for i, r := range text {
		used += columns(string(r))
		if used > width {
			return text[:i]
		}
	}
	return text
}
