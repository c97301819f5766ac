package textfmt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes text safe for a table: it returns one line without control characters. Invisible characters are escaped, see
// [Block].
func OneLine(text string) string {
	return safe(strings.TrimRight(text, "\r\n"), func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return unicode.ReplacementChar
	})
}

// Block makes text of several lines safe for a terminal. Control characters, including C1 characters, and bytes that are not
// UTF-8 are replaced. Invisible characters, and characters that change the direction of text, are written as escapes such as
// \u202e. So a reader sees everything that the text contains.
func Block(text string) string {
	return safe(text, func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return unicode.ReplacementChar
	})
}

// safe replaces control characters by the result of control, and escapes invisible characters.
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
			b.WriteRune(r) // a byte that is not UTF-8 is U+FFFD
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

// invisible reports whether a character is not visible by itself or only changes other characters.
func invisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff
}

// joins reports whether an invisible character forms one visible character with the character before it: in an emoji, or in a
// script that uses joiners.
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

// Indent makes text safe with [Block] and indents its lines by columns blanks.
func Indent(text string, columns int) string {
	margin := strings.Repeat(" ", columns)
	return margin + strings.ReplaceAll(strings.Trim(Block(text), "\n"), "\n", "\n"+margin)
}

// Strip returns a text without control sequences: ECMA-48 escape, control and string sequences, in their 7-bit and 8-bit
// forms. It also removes control characters except line ends and tabs, and an incomplete character at the end. Invisible
// characters are escaped as [Block] does.
func Strip(text []byte) string {
	state := inText
	kept := make([]byte, 0, len(text))
	for utf8.FullRune(text) {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 && (isC1(rune(text[0])) || state != inText) {
			r = rune(text[0])
		}
		if state == inText && (r == '\n' || r == '\t' || !unicode.IsControl(r)) {
			kept = utf8.AppendRune(kept, r)
		}
		state = state.next(r)
		text = text[n:]
	}
	return Block(string(kept))
}

// parserState is where a parser of control sequences is: in text, or inside a sequence that must not be printed.
type parserState int

const (
	inText      parserState = iota
	afterEscape             // ESC was read
	inEscape                // intermediate bytes of an escape sequence
	inControl               // CSI: until a byte of 0x40 to 0x7e
	inString                // OSC, DCS, APC, PM, SOS: until BEL or ST
	inStringEnd             // ESC inside a string: ST if a backslash follows
)

const (
	escape = 0x1b
	bell   = 0x07
	st     = 0x9c
)

// isC1 reports whether a character is a C1 control character. Each means the same as ESC and a character from 0x40 to 0x5f. A single
// byte of that range is one for some terminals.
func isC1(r rune) bool { return r >= 0x80 && r <= 0x9f }

// next returns the state after the character b.
func (s parserState) next(b rune) parserState {
	if isC1(b) && s != inString && s != inStringEnd {
		return afterEscape.inEscape(b - 0x40)
	}
	switch s {
	case inText:
		if b == escape {
			return afterEscape
		}
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
	return s
}

// inEscape returns the state after the character b of an escape sequence.
func (s parserState) inEscape(b rune) parserState {
	switch {
	case b == escape:
		return afterEscape
	case b >= 0x20 && b <= 0x2f:
		return inEscape
	case s == inEscape:
		return inText
	case b == '[':
		return inControl
	case strings.ContainsRune("]P_^X", b):
		return inString
	}
	return inText
}
