// Package envscan finds agent processes in the process table of this machine by their environment, independent of what a driver
// has recorded.
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

// Find returns the first processes of all sessions that have the id in their environment, or any id if id is empty. tracked
// maps the first process of each session that the driver knows to its name.
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
			continue // not a root: its parent is in the same session
		}
		r := runtime.LiveRuntime{SessionID: m.Value, PID: m.PID, City: cityOf(m.PID)}
		if epoch, ok, err := proc.EnvValue(m.PID, epochKey); err == nil && ok {
			r.Epoch, _ = strconv.Atoi(epoch) // zero if it is not a number, as documented
		}
		r.ProviderName, r.IsTracked = tracked[m.PID]
		found = append(found, r)
	}
	return found, nil
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

// Terminate stops the process that r describes and all processes with its instance token, if it is still that process. If it
// does not exist, Terminate returns nil.
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
		return nil //nolint:nilerr // the pid was reused
	}
	opts := &proc.KillOptions{}
	if token, ok, err := proc.EnvValue(r.PID, markKey); err == nil && ok {
		opts.MarkKey, opts.MarkValue = markKey, token
	}
	_, err = proc.KillTree(ctx, info.ID, opts)
	return err
}
