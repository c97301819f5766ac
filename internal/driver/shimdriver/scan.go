package shimdriver

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/runtime"
)

const sessionIDKey = "GC_SESSION_ID"

// FindRuntimesBySessionID implements runtime.ProcessTableScanner.
func (s *Sessions) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	ctx, cancel := callContext()
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
	tracked, listErr := s.roots(ctx)
	var found []runtime.LiveRuntime
	for _, m := range marked {
		if value, inherited := member[m.PPID]; inherited && value == m.Value {
			continue // not a root: its parent is in the same session
		}
		r := runtime.LiveRuntime{SessionID: m.Value, PID: m.PID, City: cityOf(m.PID)}
		if epoch, ok, err := proc.EnvValue(m.PID, "GC_RUNTIME_EPOCH"); err == nil && ok {
			r.Epoch, _ = strconv.Atoi(epoch) // zero if it is not a number, as documented
		}
		r.ProviderName, r.IsTracked = tracked[m.ID]
		found = append(found, r)
	}
	return found, listErr
}

// roots returns the name of each running session by its first process.
func (s *Sessions) roots(ctx context.Context) (map[proc.ID]string, error) {
	states, err := s.fleet.Running(ctx)
	roots := make(map[proc.ID]string, len(states))
	for _, state := range states {
		roots[state.Root] = state.Name
	}
	return roots, err
}

// cityOf returns the path of the city in the environment of a process; an empty string if there is none.
func cityOf(pid int) string {
	for _, key := range []string{"GC_CITY_PATH", "GC_CITY"} {
		if city, ok, err := proc.EnvValue(pid, key); err == nil && ok && city != "" {
			return city
		}
	}
	return ""
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (s *Sessions) TerminateRuntime(r runtime.LiveRuntime) error {
	ctx, cancel := callContext()
	defer cancel()
	if r.IsTracked {
		return s.Stop(r.ProviderName)
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
		return nil // the process ID was reused
	}
	return endTree(ctx, info.ID)
}

// endTree stops a process, its descendants, and all processes with its instance token.
func endTree(ctx context.Context, root proc.ID) error {
	opts := &proc.KillOptions{}
	if token, ok, err := proc.EnvValue(root.PID, shim.MarkKey); err == nil && ok {
		opts.MarkKey, opts.MarkValue = shim.MarkKey, token
	}
	_, err := proc.KillTree(ctx, root, opts)
	return err
}
