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

// rosterAge is how long a list is believed without any report: tmux does not report a pane
// whose program closes its terminal and lives on, or which a person starts again.
const rosterAge = time.Second

// roster is the list of sessions that run, as the server reported it last. It is kept until
// the server reports a window or a session, a process of ours ends, or the connection
// breaks. A request for it has the server answer in any case, and so receives all earlier
// reports: what was done before is never missed.
type roster struct {
	spoils atomic.Uint64

	mu    sync.Mutex
	names []string // nil if there is none; must not be changed
	at    time.Time
	when  moments
}

// moments are the counts of what makes a list another one.
type moments struct{ changes, spoils uint64 }

// Spoil has the list of [Server.Running] asked for again: a program has ended or begun.
func (s *Server) Spoil() { s.roster.spoils.Add(1) }

func (s *Server) moments() moments {
	return moments{s.ctl.Changes(), s.roster.spoils.Load()}
}

// Running returns the names of all sessions that run, in order. They are shared.
func (s *Server) Running(ctx context.Context) ([]string, error) {
	r := &s.roster
	r.mu.Lock()
	names, at, when := r.names, r.at, r.when
	r.mu.Unlock()
	if names != nil && time.Since(at) < rosterAge && when == s.moments() {
		_, err := s.Ask(ctx, control.Cmd("display-message", "-p", "."))
		if err != nil || when == s.moments() {
			return names, err
		}
	}
	at, when = time.Now(), s.moments()
	names, err := s.askRunning(ctx)
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

// askRunning asks for the names of all sessions that run, and for nothing else: the server
// takes its time for every field of every pane. All windows of ours are in the hub.
func (s *Server) askRunning(ctx context.Context) ([]string, error) {
	reply, err := s.Ask(ctx, control.Cmd("list-panes", "-s", "-t", "="+Hub+":", "-F", "#{pane_dead} #{@"+OptionSession+"}"))
	names := []string{}
	for _, line := range reply.Lines() {
		if name, alive := strings.CutPrefix(line, "0 "); alive && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}
