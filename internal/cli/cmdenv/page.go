package cmdenv

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"gascity/internal/textfmt"
)

// The sequences that begin and end a page. A page is on the alternate screen, so that what the terminal showed before is there
// afterwards. Lines are not wrapped, so that a page never scrolls. The page is cleared at its end, because tmux 3.3 shows a part of it
// again after its window has grown.
const (
	pageBegin = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J"
	pageEnd   = "\x1b[H\x1b[2J\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// inPlace reports whether a watching command draws a page in place.
func (d *Base) inPlace() bool {
	return !d.JSON && d.Height != nil && d.IsTerminal(d.Stdout) && d.Getenv("TERM") != "dumb" // without a height it is a page of gc top, which has no cursor
}

// page is a page of text that is redrawn in place on the terminal.
type page struct {
	d             *Base
	shown         []string // the rows on the terminal; nil: nothing is known about it
	columns, rows int      // of the terminal, at the last Draw
	restore       func()   // restores the settings of the terminal
	stderr        io.Writer
	messages      lockedBuffer // what was written to standard error meanwhile
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// openPage shows an empty page. Messages on standard error are printed when the page is closed. The caller must call Close.
func openPage(d *Base) *page {
	p := &page{d: d}
	p.begin()
	if d.IsTerminal(d.Stderr) {
		p.stderr = d.Stderr
		d.Stderr = &p.messages
	}
	return p
}

// begin switches the terminal to the alternate screen for the page.
func (p *page) begin() {
	p.restore = disableEcho(p.d.Stdin)
	fmt.Fprint(Raw(p.d.Stdout), pageBegin)
}

// end switches the terminal back to its normal screen.
func (p *page) end() {
	fmt.Fprint(Raw(p.d.Stdout), pageEnd)
	p.restore()
}

// Close restores the terminal as it was.
func (p *page) Close() {
	p.end()
	if p.stderr != nil {
		p.d.Stderr = p.stderr
		fmt.Fprint(p.stderr, p.messages.b.String())
	}
}

// Suspend restores the terminal, stops this process until it is continued in the foreground, and begins the page again.
func (p *page) Suspend() error {
	p.end()
	defer p.begin()
	for {
		if err := p.d.Suspend(); err != nil || !inBackground(p.d.Stdin) {
			return err
		}
	}
}

// Forget makes the next Draw draw all rows.
func (p *page) Forget() { p.shown = nil }

// Draw shows a page. It writes only the rows that differ from those on the terminal. It leaves out the rows for which there is no
// room.
func (p *page) Draw(text string) error {
	columns, rows := p.d.Columns(), p.d.Rows()
	if columns != p.columns || rows != p.rows {
		p.columns, p.rows = columns, rows
		p.Forget()
	}
	printable := textfmt.Block
	if p.d.On {
		printable = textfmt.Colored
	}
	lines := strings.Split(strings.TrimSuffix(printable(text), "\n"), "\n")
	if rows > 0 && len(lines) > rows {
		more := len(lines) - rows + 1
		lines = append(lines[:rows-1], fmt.Sprintf("… %s more", textfmt.Count(more, "line")))
	}
	for i, line := range lines {
		lines[i] = textfmt.Cut(line, columns)
	}
	var out strings.Builder
	if p.shown == nil {
		out.WriteString("\x1b[H\x1b[2J")
	}
	for y, line := range lines {
		if y >= len(p.shown) && line != "" || y < len(p.shown) && p.shown[y] != line {
			fmt.Fprintf(&out, "\x1b[%d;1H\x1b[K%s", y+1, line) // after a row of full width, \x1b[K would erase its last character
		}
	}
	if len(lines) < len(p.shown) {
		fmt.Fprintf(&out, "\x1b[%d;1H\x1b[J", len(lines)+1)
	}
	p.shown = lines
	if out.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(Raw(p.d.Stdout), out.String())
	return err
}
