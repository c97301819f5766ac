package server

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// reviveSignal has a tmux server make its socket again.
const reviveSignal = syscall.SIGUSR1

// reviveLimit bounds the wait for that.
const reviveLimit = 5 * time.Second

// RestoreSocket has a server that lives without its socket, which somebody removed, make it again. It does
// nothing if the socket is there, or if no such server is found.
func (s *Server) RestoreSocket(ctx context.Context) error {
	if !statedir.NotExists(s.socket) {
		return nil
	}
	server, found, err := s.find()
	if err != nil || !found {
		return err
	}
	for _, dir := range append(slices.Clone(s.socketDirs), filepath.Dir(s.socket), s.cfg.Dir) {
		if err := statedir.CheckTrusted(filepath.Dir(dir)); err != nil {
			return err
		}
		if err := statedir.MakePrivate(dir); err != nil {
			return err
		}
	}
	if err := proc.Signal(server, reviveSignal); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reviveLimit, fmt.Errorf("tmux server %d does not make its socket %s again; its sessions run", server.PID, s.socket))
	defer cancel()
	look := time.NewTicker(lockRetry)
	defer look.Stop()
	for statedir.NotExists(s.socket) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// serverTitle is what a server calls itself where a program can; elsewhere it is called like the program.
const serverTitle = "tmux: server"

// find returns the process of the server. It was started with the socket as an argument, and keeps
// the arguments when it goes on in the background.
func (s *Server) find() (id proc.ID, found bool, err error) {
	all, err := proc.List()
	if err != nil {
		return id, false, fmt.Errorf("cannot search for the tmux server: %w", err)
	}
	for _, info := range all {
		if !info.IsOwn() || info.Ended() || info.SID != info.PID || info.Comm != serverTitle && info.Comm != filepath.Base(s.cfg.Binary) {
			continue
		}
		argv, err := proc.Argv(info.PID)
		if err != nil || !slices.Contains(argv, s.socket) || !info.Catches(reviveSignal) {
			continue
		}
		if now, err := proc.Stat(info.PID); err == nil && now.ID == info.ID {
			return info.ID, true, nil
		}
	}
	return id, false, nil
}

// shouldSearch is true once: a server that this process has not met yet may have lost its socket before.
func (s *Server) shouldSearch() bool { return !s.searched.Swap(true) }
