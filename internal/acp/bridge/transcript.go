package bridge

import (
	"io"
	"strings"
	"sync"
)

// transcript prints the conversation as plain text, for the terminal. It is safe for concurrent use.
type transcript struct {
	mu   sync.Mutex
	w    io.Writer
	kind string // kind of the text in the unfinished line; empty at the beginning of a line
}

// line prints text as lines of its own.
func (p *transcript) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breakLine()
	p.write(strings.TrimSuffix(text, "\n") + "\n")
}

// chunk prints a piece of text. Pieces of the same kind are printed without a line break between them.
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

// endLine begins a new line, unless the output is already at the beginning of one.
func (p *transcript) endLine() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breakLine()
}

// breakLine does what endLine does. p.mu must be held.
func (p *transcript) breakLine() {
	if p.kind != "" {
		p.write("\n")
		p.kind = ""
	}
}

// write prints text without control characters. It ignores errors: if they occur, the shim has exited, and this program exits
// too.
func (p *transcript) write(text string) { _, _ = io.WriteString(p.w, stripControls(text)) }

// stripControls removes control characters that could affect a terminal.
func stripControls(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}
