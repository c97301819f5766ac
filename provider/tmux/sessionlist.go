package tmux

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// sessionListAge is the longest time that a cached list is used. tmux does not report every change: it does not
// report a program that closes its terminal and continues to run, or a pane that a person respawns.
const sessionListAge = time.Second

// sessionList caches the list of running sessions. The cache is valid until the server reports a change of a window
// or session, the process of a pane exits, or the connection breaks. [tmuxServer.Running] always waits for one reply of the
// server. It then has received all earlier notifications, so it misses no earlier change.
type sessionList struct {
	invalidations atomic.Uint64

	mu      sync.Mutex
	names   []string // nil if nothing is cached; must not be changed
	at      time.Time
	version sessionListVersion
}

// sessionListVersion counts the events that make a cached list invalid.
type sessionListVersion struct{ changes, invalidations uint64 }

// InvalidateSessions makes the cached list of [tmuxServer.Running] invalid. Callers call it when a program has started or
// eventExited.
func (s *tmuxServer) InvalidateSessions() { s.sessions.invalidations.Add(1) }

func (s *tmuxServer) sessionListVersion() sessionListVersion {
	return sessionListVersion{s.client.Changes(), s.sessions.invalidations.Load()}
}

// Running returns the sorted names of all running sessions. The slice is shared and must not be changed.
func (s *tmuxServer) Running(ctx context.Context) ([]string, error) {
	r := &s.sessions
	r.mu.Lock()
	names, at, version := r.names, r.at, r.version
	r.mu.Unlock()
	if names != nil && time.Since(at) < sessionListAge && version == s.sessionListVersion() {
		_, err := s.Query(ctx, cmd("display-message", "-p", "."))
		if err != nil || version == s.sessionListVersion() {
			return names, err
		}
	}
	at, version = time.Now(), s.sessionListVersion()
	names, err := s.queryRunning(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.After(r.at) {
		r.names, r.at, r.version = names, at, version
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
