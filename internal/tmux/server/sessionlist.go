package server

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity/internal/tmux/control"
)

// sessionListAge is how long a list is believed without any report: tmux does not report a pane
// whose program closes its terminal and lives on, or which a person starts again.
const sessionListAge = time.Second

// sessionList is the list of sessions that run, as the server reported it last. It is kept until
// the server reports a window or a session, a process of ours ends, or the connection
// breaks. A request for it has the server answer in any case, and so receives all earlier
// reports: what was done before is never missed.
type sessionList struct {
	invalidations atomic.Uint64

	mu    sync.Mutex
	names []string // nil if there is none; must not be changed
	at    time.Time
	when  sessionListVersion
}

// sessionListVersion are the counts of what makes a list another one.
type sessionListVersion struct{ changes, spoils uint64 }

// InvalidateSessions has the list of [Server.Running] asked for again: a program has ended or begun.
func (s *Server) InvalidateSessions() { s.sessions.invalidations.Add(1) }

func (s *Server) sessionListVersion() sessionListVersion {
	return sessionListVersion{s.ctl.Changes(), s.sessions.invalidations.Load()}
}

// Running returns the names of all sessions that run, in order. They are shared.
func (s *Server) Running(ctx context.Context) ([]string, error) {
	r := &s.sessions
	r.mu.Lock()
	names, at, when := r.names, r.at, r.when
	r.mu.Unlock()
	if names != nil && time.Since(at) < sessionListAge && when == s.sessionListVersion() {
		_, err := s.Query(ctx, control.Cmd("display-message", "-p", "."))
		if err != nil || when == s.sessionListVersion() {
			return names, err
		}
	}
	at, when = time.Now(), s.sessionListVersion()
	names, err := s.queryRunning(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.After(r.at) {
		r.names, r.at, r.when = names, at, when
	}
	return names, nil
}

// queryRunning asks for the names of all sessions that run, and for nothing else: the server
// takes its time for every field of every pane. All windows of ours are in the hub.
func (s *Server) queryRunning(ctx context.Context) ([]string, error) {
	reply, err := s.Query(ctx, control.Cmd("list-panes", "-s", "-t", "="+Hub+":", "-F", "#{pane_dead} #{@"+OptionSession+"}"))
	names := []string{}
	for _, line := range reply.Lines() {
		if name, alive := strings.CutPrefix(line, "0 "); alive && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}
