package shim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"gascity/internal/statedir"
)

// defaultSignals makes sure that the agent starts with default signal handling: exec resets signals that are handled, but not
// signals that are ignored. The shim itself discards these signals. With SIGPIPE handled, a write to a closed pipe returns an
// error, also on standard output.
func defaultSignals() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT)
}

const (
	watchInterval = 2 * time.Minute // inotify has too few instances for hundreds of shims, so each shim polls; each poll wakes a process
	touchEvery    = time.Hour
)

// watchStateDir restores missing files of the session's folder until ctx ends: every [Spec.WatchInterval] and when a client
// sends [reviveSignal]. Every touchEvery it also updates the modification times of the files, because cleanup programs remove
// old files in temporary folders. The agent continues meanwhile.
func (h *host) watchStateDir(ctx context.Context, asked <-chan os.Signal) {
	tick := time.NewTicker(cmp.Or(h.spec.WatchInterval, watchInterval))
	defer tick.Stop()
	touched := time.Now()
	for {
		select {
		case <-asked:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := h.restoreStateDir(); err != nil {
			fmt.Fprintln(os.Stderr, "shim: cannot make the session folder again:", err)
		}
		if time.Since(touched) > touchEvery {
			touched = time.Now()
			h.dir.Touch(touched)
		}
	}
}

// restoreStateDir creates the missing files of the session's folder again. It creates the socket last: a client that finds the
// socket also finds the other files. If another process holds the folder's lock, restoreStateDir returns an error. That process
// finds this shim and sends reviveSignal after it has released the lock.
func (h *host) restoreStateDir() error {
	returnTurn, err := h.acquireTurn(h.ctx) // blocks starts and stops of the agent
	if err != nil {
		return nil // the session is stopping: its folder is removed
	}
	defer returnTurn()
	if !statedir.SameFile(h.lock, h.dir.Lock()) {
		if err := statedir.CheckTrusted(filepath.Dir(string(h.dir))); err != nil {
			return err
		}
		lock, err := h.dir.Claim()
		if err != nil {
			return err
		}
		if err := statedir.CheckTrusted(string(h.dir)); err != nil {
			return errors.Join(err, lock.Close())
		}
		_ = h.lock.Close() // its file was removed
		h.lock = lock
	}
	h.mu.Lock()
	token, record := h.spec.Instance, h.record
	if h.exit != nil && statedir.NotExists(h.dir.ExitRecord()) {
		h.exitSaved = false
		if err := h.saveExitRecordLocked(joinLines(h.display.Lines(0))); err != nil {
			h.mu.Unlock()
			return err
		}
	}
	h.mu.Unlock()
	for _, file := range []struct {
		path  string
		write func(path string) error
	}{
		{h.dir.Input(), func(path string) error { return statedir.WriteFile(path, nil) }},
		{h.dir.Deliveries(), func(string) error { return h.runner.SaveAgain() }},
		{h.dir.Record(), func(path string) error { return statedir.WriteJSON(path, record) }},
		{h.dir.Instance(), func(path string) error { return statedir.WriteFile(path, []byte(token)) }},
	} {
		if statedir.NotExists(file.path) {
			if err := file.write(file.path); err != nil {
				return err
			}
		}
	}
	if statedir.NotExists(h.dir.Sock()) {
		return h.reopen()
	}
	return nil
}

// reopen creates the socket again. Connections to the previous socket stay open.
func (h *host) reopen() error {
	listener, err := listen(h.dir.Sock())
	if err != nil {
		return err
	}
	_ = h.listener.Close() // no client can connect to it any more
	h.listener = listener
	h.server.accept(listener)
	return nil
}
