package textfmt

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes text safe for a table: one line without control characters, and with invisible
// ones escaped, see [Block].
func OneLine(text string) string {
	return safe(strings.TrimRight(text, "\r\n"), func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return unicode.ReplacementChar
	})
}

// Block makes text of several lines safe for a terminal. Control characters, as C1 and as bytes that
// are no UTF-8 too, are replaced. Invisible characters, and those that change the direction of the
// text around them, are shown as escapes such as \u202e: what is read is what was written.
func Block(text string) string {
	return safe(text, func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return unicode.ReplacementChar
	})
}

// safe replaces control characters by control, and escapes what is invisible.
func safe(text string, control func(rune) rune) string {
	var b strings.Builder
	b.Grow(len(text))
	before := rune(0)
	for _, r := range text {
		switch {
		case unicode.IsControl(r):
			b.WriteRune(control(r))
		case invisible(r) && !joins(before, r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r) // a byte that is no UTF-8 reads as U+FFFD
		}
		before = r
	}
	return b.String()
}

const (
	zeroWidthNonJoiner = 0x200c
	zeroWidthJoiner    = 0x200d
	firstVariation     = 0xfe00
	lastVariation      = 0xfe0f
)

// invisible reports whether a character draws nothing, or only changes how others are drawn.
func invisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff
}

// joins reports whether an invisible character is a part of what is drawn after the character before
// it: of an emoji, or in a script that is written with joiners.
func joins(before, r rune) bool {
	switch {
	case r == zeroWidthJoiner || r >= firstVariation && r <= lastVariation:
		if before == lastVariation || unicode.In(before, unicode.So, unicode.Sk) {
			return true
		}
	case r != zeroWidthNonJoiner:
		return false
	}
	return r <= zeroWidthJoiner && unicode.In(before, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gujarati, unicode.Gurmukhi,
		unicode.Kannada, unicode.Malayalam, unicode.Oriya, unicode.Sinhala, unicode.Tamil, unicode.Telugu)
}

// Indent makes text safe with [Block] and moves it to the right.
func Indent(text string, columns int) string {
	margin := strings.Repeat(" ", columns)
	return margin + strings.ReplaceAll(strings.Trim(Block(text), "\n"), "\n", "\n"+margin)
}

// Stripper leaves control sequences out of a stream: ECMA-48 escape, control and
// string sequences, in the forms of 7 and of 8 bits, and control characters but line end and tab. What
// is invisible is escaped as [Block] does. A sequence or a character may be spread over several writes.
type Stripper struct {
	Out   io.Writer
	state stripState
	begun []byte // the beginning of a character
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
	text := slices.Concat(s.begun, p)
	s.begun = nil
	kept := make([]byte, 0, len(text))
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			s.begun = bytes.Clone(text)
			break
		}
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			r = rune(text[0]) // a bare byte: one of 0x80 to 0x9f is a control to some terminals
			if r >= firstC1 && r <= lastC1 || s.state != inText {
				s.state = s.next(r)
			} else {
				kept = utf8.AppendRune(kept, utf8.RuneError)
			}
		} else {
			if s.state == inText && (r == '\n' || r == '\t' || !unicode.IsControl(r)) {
				kept = utf8.AppendRune(kept, r)
			}
			s.state = s.next(r)
		}
		text = text[n:]
	}
	if _, err := io.WriteString(s.Out, Block(string(kept))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// The C1 controls: each is ESC and a character of 0x40 to 0x5f in one.
const (
	firstC1 = 0x80
	lastC1  = 0x9f
	st      = 0x9c
)

func (s *Stripper) next(b rune) stripState {
	if b >= firstC1 && b <= lastC1 && s.state != inString && s.state != inStringEnd {
		s.state = afterEscape
		return s.inEscape(b - 0x40)
	}
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
		case bell, st:
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

func (s *Stripper) inEscape(b rune) stripState {
	switch {
	case b == escape:
		return afterEscape
	case b >= 0x20 && b <= 0x2f:
		return inEscape
	case s.state == inEscape:
		return inText
	case b == '[':
		return inControl
	case strings.ContainsRune("]P_^X", b):
		return inString
	}
	return inText
}
