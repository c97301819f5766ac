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

// Printer stands before a stream for people and lets nothing through that controls a
// terminal: of all control characters only line end and tab, and of all control sequences
// only the colors of [Painter], if Colors is set. The rest is replaced as [Block] does.
// Everything that a command prints goes through one, whatever the command does itself.
// A character may be spread over several writes, a color may not. Safe for concurrent use.
type Printer struct {
	Out    io.Writer
	Colors bool

	mu    sync.Mutex
	begun []byte // the beginning of a character
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

// Colored returns text as [Block] does, but colors of this program stay.
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

// colorStart begins the sequence of a color; its parameter and an m follow.
const colorStart = "\x1b["

func isOwnColor(c Color) bool {
	return slices.Contains([]Color{"0", Bold, Faint, Red, Green, Yellow, Cyan}, c)
}

// EscapeJSON returns a JSON text in which every character that controls a terminal, or that
// is invisible, is an escape. The values are the same.
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
