package bridge

import (
	"io"
	"strings"
	"sync"
)

// transcript is the conversation as plain text. Its methods may be called at once.
type transcript struct {
	mu   sync.Mutex
	w    io.Writer
	kind string // of the text that the last line is of; empty at the beginning of a line
}

// line prints whole lines.
func (p *transcript) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breakLine()
	p.write(strings.TrimSuffix(text, "\n") + "\n")
}

// chunk prints a piece of running text; pieces of one kind follow each other without a break.
func (p *transcript) chunk(kind, text string) {
	if text == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kind != kind {
		p.breakLine()
	}
	p.write(text)
	p.kind = kind
	if strings.HasSuffix(text, "\n") {
		p.kind = ""
	}
}

// endLine ends the last line, as a turn does.
func (p *transcript) endLine() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breakLine()
}

func (p *transcript) breakLine() {
	if p.kind != "" {
		p.write("\n")
		p.kind = ""
	}
}

// write writes; a reader that is gone is the shim, and then this program ends as well.
func (p *transcript) write(text string) { _, _ = io.WriteString(p.w, harmless(text)) }

// harmless takes out what would act on a terminal on which the text is shown.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}
