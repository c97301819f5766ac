package bridge

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/retry"
	"gascity/worker"
)

// usageFile is a file in which an agent counts the tokens of its conversation. Some agents write one and do not report the usage
// of a turn. Only the goroutine of the reporter uses it.
type usageFile struct {
	pattern string
	base    agentcli.UsageTotals
}

// newUsageFile returns the usage file of the agent with the given name; nil if it has none. Only the tokens after this call
// count.
func newUsageFile(agent, conversation string, getenv func(string) string) *usageFile {
	pattern, ok := agentcli.UsageFileOf(agent, conversation, getenv)
	if !ok {
		return nil
	}
	l := &usageFile{pattern: pattern}
	l.base, _ = l.read() // the file of a new conversation does not exist yet
	return l
}

// read returns the token counts in the file; ok is false if it cannot be read.
func (l *usageFile) read() (agentcli.UsageTotals, bool) {
	paths, err := filepath.Glob(l.pattern)
	if err != nil || len(paths) == 0 {
		return agentcli.UsageTotals{}, false
	}
	text, err := os.ReadFile(paths[len(paths)-1])
	if err != nil {
		return agentcli.UsageTotals{}, false
	}
	return agentcli.LastUsageTotals(text)
}

const (
	// writtenWithin bounds the wait until the file contains the last response of the turn. Later additions count for the next
	// turn.
	writtenWithin = time.Second
	pollInterval  = 20 * time.Millisecond
)

// spent returns the tokens that were added since its last call; nil if there are none. last is how many tokens the last response
// used, by which spent sees that the file is up to date; zero if that is not known.
func (l *usageFile) spent(ctx context.Context, last int64) *worker.Usage {
	ctx, cancel := context.WithTimeout(ctx, writtenWithin)
	defer cancel()
	for {
		now, ok := l.read()
		if ok && now.Last == last && now.Sum != l.base.Sum {
			return l.since(now)
		}
		if !retry.Sleep(ctx, pollInterval) {
			if !ok || now.Sum == l.base.Sum {
				return nil
			}
			return l.since(now)
		}
	}
}

// since returns the usage between the totals of its last call and these totals.
func (l *usageFile) since(totals agentcli.UsageTotals) *worker.Usage {
	u := totals.Since(l.base)
	l.base = totals
	return &u
}
