package text

import (
	"io"
	"strings"
	"unicode"
)

// OneLine makes text safe for a table: one line without control characters.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.TrimRight(text, "\r\n"))
}

// Block makes text of several lines safe for a terminal.
func Block(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Indent makes text safe with [Block] and moves it to the right.
func Indent(text string, columns int) string {
	margin := strings.Repeat(" ", columns)
	return margin + strings.ReplaceAll(strings.Trim(Block(text), "\n"), "\n", "\n"+margin)
}

// Stripper leaves control sequences out of a stream: ECMA-48 escape, control and
// string sequences, and control characters but line end and tab. A sequence may
// be spread over several writes.
type Stripper struct {
	Out   io.Writer
	state stripState
}

type stripState int

const (
	inText      stripState = iota
	afterEscape            // ESC was read
	inEscape               // intermediate bytes of an escape sequence
	inControl              // CSI: until a byte of 0x40 to 0x7e
	inString               // OSC, DCS, APC, PM, SOS: until BEL or ST
	inStringEnd            // ESC inside a string: ST if a backslash follows
)

const (
	escape = 0x1b
	bell   = 0x07
)

// Write writes p without control sequences.
func (s *Stripper) Write(p []byte) (int, error) {
	kept := make([]byte, 0, len(p))
	for _, b := range p {
		if s.state == inText && keep(b) {
			kept = append(kept, b)
		}
		s.state = s.next(b)
	}
	if _, err := s.Out.Write(kept); err != nil {
		return 0, err
	}
	return len(p), nil
}

func keep(b byte) bool { return b == '\n' || b == '\t' || b >= ' ' && b != 0x7f }

func (s *Stripper) next(b byte) stripState {
	switch s.state {
	case inText:
		if b == escape {
			return afterEscape
		}
		return inText
	case afterEscape, inEscape:
		return s.inEscape(b)
	case inControl:
		if b >= 0x40 && b <= 0x7e {
			return inText
		}
	case inString:
		switch b {
		case bell:
			return inText
		case escape:
			return inStringEnd
		}
	case inStringEnd:
		if b == '\\' {
			return inText
		}
		return inString
	}
	return s.state
}

func (s *Stripper) inEscape(b byte) stripState {
	switch {
	case b == escape:
		return afterEscape
	case b >= 0x20 && b <= 0x2f:
		return inEscape
	case s.state == inEscape:
		return inText
	case b == '[':
		return inControl
	case strings.IndexByte("]P_^X", b) >= 0:
		return inString
	}
	return inText
}
