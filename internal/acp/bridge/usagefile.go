package bridge

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"gascity/internal/agentcli/hooks"
	"gascity/worker"
)

// usageFile is the file in which an agent that does not say what a turn took keeps it as
// running totals. Only the reporter's own goroutine uses it.
type usageFile struct {
	pattern string
	base    hooks.Totals
}

// newUsageFile returns that of an agent by its own name; nil if it is not known to have one. What is
// in it counts from now on.
func newUsageFile(agent, conversation string, getenv func(string) string) *usageFile {
	pattern, ok := hooks.UsageFileOf(agent, conversation, getenv)
	if !ok {
		return nil
	}
	l := &usageFile{pattern: pattern}
	l.base, _ = l.read() // a new conversation has none yet
	return l
}

func (l *usageFile) read() (hooks.Totals, bool) {
	paths, err := filepath.Glob(l.pattern)
	if err != nil || len(paths) == 0 {
		return hooks.Totals{}, false
	}
	text, err := os.ReadFile(paths[len(paths)-1])
	if err != nil {
		return hooks.Totals{}, false
	}
	return hooks.LastTotals(text)
}

const (
	// writtenWithin bounds the wait for the file to have the turn's last response: what
	// comes later counts with the next turn.
	writtenWithin = time.Second
	pollInterval  = 20 * time.Millisecond
)

// spent returns what was added since it was asked last; nil if nothing was. last is what the
// last response took, zero if it was not reported.
func (l *usageFile) spent(ctx context.Context, last int64) *worker.Usage {
	ctx, cancel := context.WithTimeout(ctx, writtenWithin)
	defer cancel()
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		now, ok := l.read()
		if ok && now.Last == last && now.Sum != l.base.Sum {
			return l.since(now)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			if !ok || now.Sum == l.base.Sum {
				return nil
			}
			return l.since(now)
		}
	}
}

func (l *usageFile) since(now hooks.Totals) *worker.Usage {
	u := now.Since(l.base)
	l.base = now
	return &u
}
