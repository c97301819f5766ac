package tmux

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity/internal/proc"
)

// If the owner of a control client is killed while output is on its way to the client, the client never exits by
// itself: the server waits until somebody reads the output. Therefore each gc process stores in the server which
// client it owns, and kills the clients whose owner is gone.

// optionOwner is the prefix of the server options that name the owner of a control client. The pid of the client
// follows.
const optionOwner = "gc_owner_"

// controlClients returns the pids of all control clients.
func (s *tmuxServer) controlClients(ctx context.Context) ([]int, error) {
	reply, err := s.Query(ctx, cmd("list-clients", "-F", "#{client_control_mode} #{client_pid}"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, line := range reply.Lines() {
		if pid, ok := strings.CutPrefix(line, "1 "); ok {
			pids = append(pids, parseNumber(pid))
		}
	}
	return pids, nil
}

// RemoveStaleClients stores this process as the owner of its control client, and kills the control clients whose owner
// is gone.
func (s *tmuxServer) RemoveStaleClients(ctx context.Context) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	own, err := s.Query(ctx, cmd("display-message", "-p", "#{client_pid}"))
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
			if _, err := s.Query(ctx, cmd("set-option", "-s", option, self.String())); err != nil {
				return err
			}
			continue
		}
		reply, err := s.Query(ctx, cmd("display-message", "-p", "#{"+option+"}"))
		if err != nil {
			return err
		}
		owner, err := proc.ParseID(string(reply.Output))
		if err != nil {
			continue // its owner has not stored itself yet
		}
		if alive, err := proc.Alive(owner); err != nil || alive {
			continue
		}
		_ = proc.Signal(identifyProcess(pid), syscall.SIGKILL) // fails only if the client has exited
		if _, err := s.Query(ctx, cmd("set-option", "-s", "-q", "-u", option)); err != nil {
			return err
		}
	}
	return nil
}

// clientExitTimeout is the time that clients have to disconnect from a server that shuts down.
const clientExitTimeout = 2 * time.Second

// awaitServer waits until the server process has exited. After clientExitTimeout it kills the control clients, which
// can keep the server from exiting.
func (s *tmuxServer) awaitServer(ctx context.Context, server int) error {
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
		_ = proc.Signal(id, syscall.SIGKILL) // fails only if the client has exited
	}
	return awaitGone(ctx, server)
}

// ownClients returns the control clients of this server, found by their arguments. The server's own list can be
// incomplete: it does not contain a client whose owner was killed before the client attached.
func (s *tmuxServer) ownClients(server int) ([]proc.ID, error) {
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
			continue // the process has exited or belongs to another user
		}
		at := slices.Index(argv, "-S")
		if at > 0 && at+1 < len(argv) && argv[at+1] == s.socket && slices.Contains(argv, "-C") {
			clients = append(clients, info.ID)
		}
	}
	return clients, nil
}

// awaitGone waits until the process has exited.
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

// identifyProcess returns the identity of a process. The identity of a process that has exited has no start time.
func identifyProcess(pid int) proc.ID {
	info, err := proc.Stat(pid)
	if err != nil {
		return proc.ID{PID: pid}
	}
	return info.ID
}
