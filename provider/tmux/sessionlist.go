package tmux

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// sessionListAge is the longest time that a cached list is used. tmux does not report every change: it does not
// report a program that closes its terminal and continues to run, or a pane that a person respawns.
const sessionListAge = time.Second

// sessionList caches the list of running sessions. The cache is valid until the server reports a change of a window
// or session, the process of a pane exits, or the connection breaks. [tmuxServer.Running] always waits for one reply of the
// server. It then has received all earlier notifications, so it misses no earlier change.
type sessionList struct {
	mu      sync.Mutex
	names   []string // nil if nothing is cached; must not be changed
	at      time.Time
	changes uint64 // the result of [controlClient.Changes] before the list was read
}

// InvalidateSessions makes the cached list of [tmuxServer.Running] invalid. Callers call it when a program has started or
// exited.
func (s *tmuxServer) InvalidateSessions() { s.client.changes.Add(1) }

// Running returns the sorted names of all running sessions. The slice is shared and must not be changed.
func (s *tmuxServer) Running(ctx context.Context) ([]string, error) {
	r := &s.sessions
	r.mu.Lock()
	names, at, changes := r.names, r.at, r.changes
	r.mu.Unlock()
	if names != nil && time.Since(at) < sessionListAge && changes == s.client.Changes() {
		_, err := s.Query(ctx, cmd("display-message", "-p", "."))
		if err != nil || changes == s.client.Changes() {
			return names, err
		}
	}
	at, changes = time.Now(), s.client.Changes()
	names, err := s.queryRunning(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.After(r.at) {
		r.names, r.at, r.changes = names, at, changes
	}
	return names, nil
}

// queryRunning queries the names of all running sessions. It lists the hub, which contains every window that gc has
// created, and queries only two fields, because each field of each pane costs the server time.
func (s *tmuxServer) queryRunning(ctx context.Context) ([]string, error) {
	reply, err := s.Query(ctx, cmd("list-panes", "-s", "-t", "="+hub+":", "-F", "#{pane_dead} #{@"+optionSession+"}"))
	names := []string{}
	for _, line := range reply.Lines() {
		if name, alive := strings.CutPrefix(line, "0 "); alive && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}
