package process

import (
	"bytes"
	"slices"
	"strings"
)

// maxLine is where a captured line is cut in two.
const maxLine = 16 << 10

// maxLines bounds the bytes of all captured lines: a program without a terminal may
// write lines of any length.
const maxLines = 8 << 20

// Lines keeps the last lines of a program that has no terminal, as many as the two
// limits allow. It is not safe for concurrent use.
type Lines struct {
	limit   int
	lines   []string // from first on
	first   int
	size    int    // bytes of what is kept
	partial []byte // the last line, not ended yet
}

// NewLines returns a memory of at most limit lines.
func NewLines(limit int) *Lines { return &Lines{limit: limit} }

// Write takes output; it never fails.
func (l *Lines) Write(p []byte) (int, error) {
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

func (l *Lines) add(line string) {
	line = strings.TrimRight(line, " \t\r")
	l.lines = append(l.lines, line)
	l.size += len(line)
	for len(l.lines)-l.first > l.limit || l.size > maxLines {
		l.size -= len(l.lines[l.first])
		l.lines[l.first] = ""
		l.first++
	}
	if l.first > l.limit { // as many gone as kept: worth the move
		l.lines = slices.Delete(l.lines, 0, l.first)
		l.first = 0
	}
}

// Lines returns the last n lines, n <= 0 for all, without empty ones at the end.
func (l *Lines) Lines(n int) []string {
	all := l.lines[l.first:]
	var last string
	if len(l.partial) > 0 {
		last = strings.TrimRight(string(l.partial), " \t\r")
	}
	if last == "" {
		for len(all) > 0 && all[len(all)-1] == "" {
			all = all[:len(all)-1]
		}
	}
	if n > 0 {
		if last != "" {
			n--
		}
		all = all[max(0, len(all)-n):]
	}
	all = slices.Clone(all)
	if last != "" {
		all = append(all, last)
	}
	return all
}

// ClearScrollback forgets all but the line that has not ended.
func (l *Lines) ClearScrollback() { l.lines, l.first, l.size = nil, 0, 0 }

// Size is zero: there is no screen.
func (l *Lines) Size() (cols, rows int) { return 0, 0 }
