package server

import (
	"context"
	"slices"
	"strings"
)

const (
	depth = 1000 // number of lines that are read
	// volatile is the number of lines at the end of a terminal that may be redrawn while the agent works, such as its input box
	// and status. They are sent when the turn has ended.
	volatile = 12
)

// printed returns the last lines of the session's output, without blanks at their ends.
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

// sendNewLines sends the lines that are new in the session's output to the editor. over means that the turn has ended; before
// that, the last lines are not sent, because they may still change.
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
	if over { // do not send an input box that was already there when the turn began
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

// countSent returns how many lines at the beginning of current were already sent. The first lines of sent may be missing in
// current, and the last lines of sent may have changed.
func countSent(sent, current []string) int {
	best := 0
	for from := range sent {
		n := 0
		for from+n < len(sent) && n < len(current) && sent[from+n] == current[n] {
			n++
		}
		if best = max(best, n); from+best >= len(sent) {
			break
		}
	}
	return best
}
