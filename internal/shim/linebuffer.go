package shim

import (
	"bytes"
	"slices"
	"strings"
)

// maxLine is the longest captured line in bytes; a longer line is split.
const maxLine = 16 << 10

// maxLines bounds the total bytes of captured lines: a program without a terminal may write lines of any length.
const maxLines = 8 << 20

// lineBuffer stores the last lines that a program without a terminal printed, within the limits of lines and bytes. It is not safe
// for concurrent use.
type lineBuffer struct {
	limit   int
	lines   []string // valid from first on
	first   int
	size    int    // bytes of the stored lines
	partial []byte // the last line, without a newline yet
}

// newLineBuffer returns a lineBuffer that stores at most limit lines.
func newLineBuffer(limit int) *lineBuffer { return &lineBuffer{limit: limit} }

// Write adds output of the agent to the stored lines and drops the oldest lines above the limit. It never fails.
func (l *lineBuffer) Write(p []byte) (int, error) {
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

// add appends one line and removes the oldest lines beyond the limits.
func (l *lineBuffer) add(line string) {
	line = strings.TrimRight(line, " \t\r")
	l.lines = append(l.lines, line)
	l.size += len(line)
	for len(l.lines)-l.first > l.limit || l.size > maxLines {
		l.size -= len(l.lines[l.first])
		l.lines[l.first] = ""
		l.first++
	}
	if l.first > l.limit { // more lines were removed than are stored: free their memory
		l.lines = slices.Delete(l.lines, 0, l.first)
		l.first = 0
	}
}

// Lines returns the last n lines, without empty lines at the end; n <= 0 returns all lines.
func (l *lineBuffer) Lines(n int) []string {
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

// ClearScrollback deletes all lines except the last one if it has no newline yet.
func (l *lineBuffer) ClearScrollback() { l.lines, l.first, l.size = nil, 0, 0 }

// Size returns zeros: there is no screen.
func (l *lineBuffer) Size() (cols, rows int) { return 0, 0 }
