package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"gascity/internal/proc"
	"gascity/runtime"
)

const sessionIDKey = "GC_SESSION_ID"

// FindRuntimesBySessionID keeps the contract of runtime.ProcessTableScanner.
func (p *Provider) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	ctx, cancel := bounded()
	defer cancel()
	marked, err := proc.FindByEnv(sessionIDKey, id)
	var unreadable *proc.UnreadableError
	if err != nil && !errors.As(err, &unreadable) {
		return nil, fmt.Errorf("cannot scan for agent processes: %w", err)
	}
	member := map[int]string{}
	for _, m := range marked {
		member[m.PID] = m.Value
	}
	tracked, listErr := p.roots(ctx)
	var found []runtime.LiveRuntime
	for _, m := range marked {
		if value, inherited := member[m.PPID]; inherited && value == m.Value {
			continue // not a root: its parent is of the same session
		}
		r := runtime.LiveRuntime{SessionID: m.Value, PID: m.PID, City: cityOf(m.PID)}
		if epoch, ok, err := proc.EnvValue(m.PID, "GC_RUNTIME_EPOCH"); err == nil && ok {
			r.Epoch, _ = strconv.Atoi(epoch) // zero if it is no number, as documented
		}
		r.ProviderName, r.IsTracked = tracked[m.PID]
		found = append(found, r)
	}
	return found, listErr
}

// roots maps the first process of each running session to its name. The server collects
// its processes itself: as long as it tells of one, the number is that one's.
func (p *Provider) roots(ctx context.Context) (map[int]string, error) {
	list, err := p.list(ctx)
	if absent(err) {
		err = nil
	}
	roots := map[int]string{}
	for _, s := range list {
		if !s.dead {
			roots[s.pid] = s.name
		}
	}
	return roots, err
}

func cityOf(pid int) string {
	for _, key := range []string{"GC_CITY_PATH", "GC_CITY"} {
		if city, ok, err := proc.EnvValue(pid, key); err == nil && ok && city != "" {
			return city
		}
	}
	return ""
}

// TerminateRuntime keeps the contract of runtime.ProcessTableScanner.
func (p *Provider) TerminateRuntime(r runtime.LiveRuntime) error {
	ctx, cancel := bounded()
	defer cancel()
	if r.IsTracked {
		return p.Stop(r.ProviderName)
	}
	info, err := proc.Stat(r.PID)
	if errors.Is(err, proc.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	id, ok, err := proc.EnvValue(r.PID, sessionIDKey)
	if err != nil || !ok || id != r.SessionID {
		return nil //nolint:nilerr // the number belongs to another process now
	}
	opts := &proc.KillOptions{}
	if token, ok, err := proc.EnvValue(r.PID, markKey); err == nil && ok {
		opts.MarkKey, opts.MarkValue = markKey, token
	}
	_, err = proc.KillTree(ctx, info.ID, opts)
	return err
}

// missing reports whether there is nothing at path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
