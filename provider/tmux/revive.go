package tmux

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/internal/statedir"
)

// restoreSignal makes a tmux server create its socket again.
const restoreSignal = syscall.SIGUSR1

// restoreLimit is the longest time that RestoreSocket waits for the socket.
const restoreLimit = 5 * time.Second

// RestoreSocket makes a running server whose socket file was removed create the socket again. It does nothing if the
// socket exists or no such server is found. If it finds one, it waits for the server lock: a server that another process is
// starting has no socket yet, and must not replace it once clients use it.
func (s *tmuxServer) RestoreSocket(ctx context.Context) error {
	if !statedir.NotExists(s.socket) {
		return nil
	}
	if _, found, err := s.find(); err != nil || !found {
		return err
	}
	if err := statedir.CheckTrusted(filepath.Dir(s.cfg.Dir)); err != nil {
		return err
	}
	return s.withConfiguration(ctx, func() error { return s.restoreSocket(ctx) })
}

// restoreSocket is RestoreSocket for a caller that holds the server lock.
func (s *tmuxServer) restoreSocket(ctx context.Context) error {
	if !statedir.NotExists(s.socket) {
		return nil
	}
	server, found, err := s.find()
	if err != nil || !found {
		return err
	}
	if !statedir.NotExists(s.socket) { // the search takes time on a loaded machine
		return nil
	}
	for _, dir := range append(slices.Clone(s.socketDirs), filepath.Dir(s.socket), s.cfg.Dir) {
		if err := statedir.CheckTrusted(filepath.Dir(dir)); err != nil {
			return err
		}
		if err := statedir.MakePrivate(dir); err != nil {
			return err
		}
	}
	if err := proc.Signal(server, restoreSignal); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, restoreLimit, fmt.Errorf("tmux server (process %d) did not create its socket %s again within %v; its sessions still run", server.PID, s.socket, restoreLimit))
	defer cancel()
	for statedir.NotExists(s.socket) {
		if !retry.Sleep(ctx, lockRetry) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// serverTitle is the process name of a tmux server, on systems where a program can set its name. On other systems the
// process has the name of the program.
const serverTitle = "tmux: server"

// find searches for the process of the server by its arguments, which contain the path of the socket.
func (s *tmuxServer) find() (id proc.ID, found bool, err error) {
	all, err := proc.List()
	if err != nil {
		return id, false, fmt.Errorf("cannot search for the tmux server: %w", err)
	}
	for _, info := range all {
		if !info.IsOwn() || info.Ended() || info.SID != info.PID || info.Comm != serverTitle && info.Comm != filepath.Base(s.cfg.Binary) {
			continue
		}
		argv, err := proc.Argv(info.PID)
		if err != nil || !slices.Contains(argv, s.socket) || !info.Catches(restoreSignal) {
			continue
		}
		if now, err := proc.Stat(info.PID); err == nil && now.ID == info.ID {
			return info.ID, true, nil
		}
	}
	return id, false, nil
}

// shouldSearch returns true at its first call and false later. A server whose socket is missing is searched for only
// once in this process.
func (s *tmuxServer) shouldSearch() bool { return !s.searched.Swap(true) }
