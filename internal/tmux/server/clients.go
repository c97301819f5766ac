package server

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/tmux/control"
)

// A control client whose process was killed while output was on its way to it never ends by
// itself: the server goes on waiting until it has been read. So each process notes which
// client is its own, and takes away those whose owner is gone.

// optionOwner and the pid of a control client name the process that it belongs to.
const optionOwner = "gc_owner_"

// controlClients returns the processes of all control clients.
func (s *Server) controlClients(ctx context.Context) ([]int, error) {
	reply, err := s.Query(ctx, control.Cmd("list-clients", "-F", "#{client_control_mode} #{client_pid}"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, line := range reply.Lines() {
		if pid, ok := strings.CutPrefix(line, "1 "); ok {
			pids = append(pids, Number(pid))
		}
	}
	return pids, nil
}

// RemoveStaleClients records whose client ours is and takes away those of processes that are gone.
func (s *Server) RemoveStaleClients(ctx context.Context) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	own, err := s.Query(ctx, control.Cmd("display-message", "-p", "#{client_pid}"))
	if err != nil {
		return err
	}
	pids, err := s.controlClients(ctx)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		option := "@" + optionOwner + strconv.Itoa(pid)
		if strconv.Itoa(pid) == string(own.Output) {
			if _, err := s.Query(ctx, control.Cmd("set-option", "-s", option, self.String())); err != nil {
				return err
			}
			continue
		}
		reply, err := s.Query(ctx, control.Cmd("display-message", "-p", "#{"+option+"}"))
		if err != nil {
			return err
		}
		owner, err := proc.ParseID(string(reply.Output))
		if err != nil {
			continue // it is about to say so
		}
		if alive, err := proc.Alive(owner); err != nil || alive {
			continue
		}
		_ = proc.Signal(Identify(pid), syscall.SIGKILL) // gone is what we want
		if _, err := s.Query(ctx, control.Cmd("set-option", "-s", "-q", "-u", option)); err != nil {
			return err
		}
	}
	return nil
}

// clientExitTimeout is how long clients get to leave a server that ends.
const clientExitTimeout = 2 * time.Second

// awaitServer waits until the server has ended, and takes away the clients that keep it
// from that.
func (s *Server) awaitServer(ctx context.Context, server int) error {
	limited, cancel := context.WithTimeout(ctx, clientExitTimeout)
	err := awaitGone(limited, server)
	cancel()
	if err == nil || ctx.Err() != nil {
		return err
	}
	clients, err := s.ownClients(server)
	if err != nil {
		return err
	}
	for _, id := range clients {
		_ = proc.Signal(id, syscall.SIGKILL) // gone is what we want
	}
	return awaitGone(ctx, server)
}

// ownClients finds the control clients of all processes by their arguments. The server does
// not list one whose owner was killed before it was attached.
func (s *Server) ownClients(server int) ([]proc.ID, error) {
	all, err := proc.List()
	if err != nil {
		return nil, err
	}
	var clients []proc.ID
	for _, info := range all {
		if info.PID == server || info.Ended() {
			continue
		}
		argv, err := proc.Argv(info.PID)
		if err != nil {
			continue // it has ended, or is another user's
		}
		at := slices.Index(argv, "-S")
		if at > 0 && at+1 < len(argv) && argv[at+1] == s.socket && slices.Contains(argv, "-C") {
			clients = append(clients, info.ID)
		}
	}
	return clients, nil
}

// awaitGone waits until the process has ended.
func awaitGone(ctx context.Context, pid int) error {
	info, err := proc.Stat(pid)
	if errors.Is(err, proc.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return proc.WaitGone(ctx, info.ID)
}

// Identify returns the identity of a process of the server's; one that has ended already
// has no start time.
func Identify(pid int) proc.ID {
	info, err := proc.Stat(pid)
	if err != nil {
		return proc.ID{PID: pid}
	}
	return info.ID
}
