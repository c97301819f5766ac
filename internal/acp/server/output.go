package server

import (
	"context"
	"slices"
	"strings"
)

const (
	depth = 1000 // lines that are looked at
	// volatile is how many lines at the end of a terminal may be drawn again while the
	// agent works: its input box, its status. They are sent when the turn is over.
	volatile = 12
)

// printed returns the last lines that the session shows.
func (b *bridge) printed(ctx context.Context) ([]string, error) {
	out, err := b.City.Peek(ctx, b.Agent, depth)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimRight(out.Text, "\n "), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \r")
	}
	return lines, nil
}

// sendNewLines gives the editor the lines that are new; while the agent works not those
// that may change.
func (t *turn) sendNewLines(over bool) error {
	now, err := t.printed(t.ctx)
	if err != nil {
		return err
	}
	keep := 1
	if t.terminal {
		keep = volatile
	}
	if over {
		keep = 0
	}
	end := max(len(now)-keep, 0)
	from := countSent(t.sent, now)
	if over { // the input box that stood there before says nothing new
		for i := len(t.first); end > from && i > 0 && t.first[i-1] == now[end-1]; i-- {
			end--
		}
	}
	if from >= end {
		return nil
	}
	t.sent = slices.Clone(now[:end])
	return t.sendText(strings.Join(now[from:end], "\n") + "\n")
}

// countSent returns how many lines of now were already sent. The first of the sent lines
// may have scrolled off the top, and the last ones may have been drawn over.
func countSent(told, now []string) int {
	best := 0
	for from := range told {
		n := 0
		for from+n < len(told) && n < len(now) && told[from+n] == now[n] {
			n++
		}
		if best = max(best, n); from+best >= len(told) {
			break
		}
	}
	return best
}
