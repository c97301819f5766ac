package shim

import (
	"bytes"
	"strings"

	"gascity/internal/term"
)

// display keeps what the agent printed. Its methods are called with the host's
// lock held.
type display interface {
	Write(p []byte) (int, error)
	Lines(n int) []string // the last n lines, n <= 0 for all
	ClearScrollback()
	Size() (cols, rows int)
}

func newDisplay(spec Spec, reply func([]byte), notice func(term.Notice)) display {
	if !spec.Terminal {
		return &lines{limit: spec.Scrollback}
	}
	return term.New(spec.Cols, spec.Rows, &term.Options{Scrollback: spec.Scrollback, Reply: reply, Notify: notice})
}

// maxLine is where a captured line is cut in two.
const maxLine = 16 << 10

// lines keeps the last lines of a program that has no terminal. It is a ring:
// full, each new line takes the place of the oldest.
type lines struct {
	limit   int
	ring    []string
	next    int    // where the next line goes once the ring is full
	partial []byte // the last line, not ended yet
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		l.partial = append(l.partial, line...)
		for len(l.partial) > maxLine {
			l.add(string(l.partial[:maxLine]))
			l.partial = append(l.partial[:0], l.partial[maxLine:]...)
		}
		if ended {
			l.add(string(l.partial))
			l.partial = l.partial[:0]
		}
		p = rest
	}
	return n, nil
}

func (l *lines) add(line string) {
	line = strings.TrimRight(line, " \t\r")
	if len(l.ring) < l.limit {
		l.ring = append(l.ring, line)
		return
	}
	l.ring[l.next] = line
	l.next = (l.next + 1) % len(l.ring)
}

func (l *lines) Lines(n int) []string {
	all := make([]string, 0, len(l.ring)+1)
	all = append(append(all, l.ring[l.next:]...), l.ring[:l.next]...)
	if len(l.partial) > 0 {
		all = append(all, strings.TrimRight(string(l.partial), " \t\r"))
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if n > 0 && len(all) > n {
		all = all[len(all)-n:]
	}
	return all
}

func (l *lines) ClearScrollback() { l.ring, l.next = nil, 0 }

func (l *lines) Size() (cols, rows int) { return 0, 0 }
