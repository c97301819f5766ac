package textfmt

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Printer writes text for people to Out and removes everything that could control a terminal. Of control characters it writes
// only line ends and tabs. Of control sequences it writes only the colors of [Painter], if Colors is set. Other characters are
// replaced as [Block] does. All output of a command must go through a Printer. A character may be split between several writes;
// a color must not be. It is safe for concurrent use.
type Printer struct {
	Out    io.Writer
	Colors bool

	mu    sync.Mutex
	begun []byte // the first bytes of an incomplete character
}

// Write implements [io.Writer].
func (p *Printer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Concat(p.begun, text)
	whole := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if start := len(all) - back; utf8.RuneStart(all[start]) {
			if !utf8.FullRune(all[start:]) {
				whole = start
			}
			break
		}
	}
	p.begun = bytes.Clone(all[whole:])
	if whole == 0 && len(text) > 0 {
		return len(text), nil
	}
	printable := Block
	if p.Colors {
		printable = Colored
	}
	if _, err := io.WriteString(p.Out, printable(string(all[:whole]))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Colored makes text safe as [Block] does, but does not change the colors of [Painter].
func Colored(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, colorStart)
		b.WriteString(Block(before))
		if !found {
			return b.String()
		}
		end := strings.IndexByte(after, 'm')
		if end < 0 || !isOwnColor(Color(after[:end])) {
			b.WriteString(Block(colorStart))
			text = after
			continue
		}
		b.WriteString(colorStart + after[:end+1])
		text = after[end+1:]
	}
}

// colorStart is the beginning of a color sequence. A parameter and the letter m follow it.
const colorStart = "\x1b["

func isOwnColor(c Color) bool {
	return slices.Contains([]Color{"0", Bold, Faint, Red, Green, Yellow, Cyan}, c)
}

// EscapeJSON returns a JSON text in which every character that is invisible or controls a terminal is written as an escape. The
// decoded values stay the same.
func EscapeJSON(doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	for len(doc) > 0 {
		r, n := utf8.DecodeRune(doc)
		switch {
		case r == '\n' || r == '\t' || !unicode.IsControl(r) && !invisible(r):
			out = append(out, doc[:n]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		doc = doc[n:]
	}
	return out
}
