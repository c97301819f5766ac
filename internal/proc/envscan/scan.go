// Package envscan finds agent processes in the process table of this machine by what their
// environment says, whatever the books of a driver say.
package envscan

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"gascity/internal/proc"
	"gascity/runtime"
)

const (
	sessionIDKey = "GC_SESSION_ID"
	epochKey     = "GC_RUNTIME_EPOCH"
	markKey      = "GC_INSTANCE_TOKEN"
)

// Find returns the first processes of all sessions that carry the id, or any id if it is
// empty. tracked maps the first process of each session in the driver's books to its name.
func Find(id string, tracked map[int]string) ([]runtime.LiveRuntime, error) {
	marked, err := proc.FindByEnv(sessionIDKey, id)
	var unreadable *proc.UnreadableError
	if err != nil && !errors.As(err, &unreadable) {
		return nil, fmt.Errorf("cannot scan for agent processes: %w", err)
	}
	member := map[int]string{}
	for _, m := range marked {
		member[m.PID] = m.Value
	}
	var found []runtime.LiveRuntime
	for _, m := range marked {
		if value, inherited := member[m.PPID]; inherited && value == m.Value {
			continue // not a root: its parent is of the same session
		}
		r := runtime.LiveRuntime{SessionID: m.Value, PID: m.PID, City: cityOf(m.PID)}
		if epoch, ok, err := proc.EnvValue(m.PID, epochKey); err == nil && ok {
			r.Epoch, _ = strconv.Atoi(epoch) // zero if it is no number, as documented
		}
		r.ProviderName, r.IsTracked = tracked[m.PID]
		found = append(found, r)
	}
	return found, nil
}

func cityOf(pid int) string {
	for _, key := range []string{"GC_CITY_PATH", "GC_CITY"} {
		if city, ok, err := proc.EnvValue(pid, key); err == nil && ok && city != "" {
			return city
		}
	}
	return ""
}

// Terminate ends the process that r describes with all that carries its token, if it is
// still that process. One that is gone is nil.
func Terminate(ctx context.Context, r runtime.LiveRuntime) error {
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
