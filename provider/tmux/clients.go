package tmux

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/tmuxctl"
)

// A control client whose process was killed while output was on its way to it never ends by
// itself: the server goes on waiting until it has been read. So each process notes which
// client is its own, and takes away those whose owner is gone.

// optionOwner and the pid of a control client name the process that it belongs to.
const optionOwner = "gc_owner_"

// controlClients returns the processes of all control clients.
func (p *Provider) controlClients(ctx context.Context) ([]int, error) {
	reply, err := p.server.ask(ctx, tmuxctl.Cmd("list-clients", "-F", "#{client_control_mode} #{client_pid}"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, line := range reply.Lines() {
		if pid, ok := strings.CutPrefix(line, "1 "); ok {
			pids = append(pids, number(pid))
		}
	}
	return pids, nil
}

// tidy notes whose client ours is and takes away those of processes that are gone.
func (p *Provider) tidy(ctx context.Context) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	own, err := p.server.ask(ctx, tmuxctl.Cmd("display-message", "-p", "#{client_pid}"))
	if err != nil {
		return err
	}
	pids, err := p.controlClients(ctx)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		option := "@" + optionOwner + strconv.Itoa(pid)
		if strconv.Itoa(pid) == string(own.Output) {
			if _, err := p.server.ask(ctx, tmuxctl.Cmd("set-option", "-s", option, self.String())); err != nil {
				return err
			}
			continue
		}
		reply, err := p.server.ask(ctx, tmuxctl.Cmd("display-message", "-p", "#{"+option+"}"))
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
		_ = proc.Signal(identify(pid), syscall.SIGKILL) // gone is what we want
		if _, err := p.server.ask(ctx, tmuxctl.Cmd("set-option", "-s", "-q", "-u", option)); err != nil {
			return err
		}
	}
	return nil
}

// farewells is how long clients get to leave a server that ends.
const farewells = 2 * time.Second

// awaitServer waits until the server has ended, and takes away the clients that keep it
// from that.
func awaitServer(ctx context.Context, server int, clients []int) error {
	var ids []proc.ID
	for _, pid := range clients {
		ids = append(ids, identify(pid))
	}
	limited, cancel := context.WithTimeout(ctx, farewells)
	err := awaitGone(limited, server)
	cancel()
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, id := range ids {
		_ = proc.Signal(id, syscall.SIGKILL) // gone is what we want
	}
	return awaitGone(ctx, server)
}
