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

// defaultSignals gives the agent signals in their default state, whatever the
// starter ignored: exec resets a signal that is handled, not one that is ignored.
// The shim itself takes no notice of them. A closed pipe is an error of the write,
// also on the standard output.
func defaultSignals() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT)
}

const (
	watchInterval = 2 * time.Minute // hundreds of shims look, each look wakes a process, and inotify has fewer instances than that
	touchEvery    = time.Hour
)

// watchStateDir looks after the folder until ctx ends: it makes again what was removed, every
// [Spec.WatchInterval] and whenever a client asks by [reviveSignal], and touches the files now and
// then, because cleaners of temporary folders remove what looks old. The agent goes on meanwhile.
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

// restoreStateDir makes again what is missing of the session's folder. The socket comes last: a client
// that finds it finds the rest too. It does nothing while another process holds the folder's lock:
// that one finds this shim and asks it to restore once the lock is free.
func (h *host) restoreStateDir() error {
	give, err := h.acquireTurn(h.ctx) // the agent is not started or stopped meanwhile
	if err != nil {
		return nil // the session stops: its folder is removed
	}
	defer give()
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
		_ = h.lock.Close() // the lock of a file without a name
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
	if statedir.NotExists(h.dir.Input()) {
		if err := statedir.WriteFile(h.dir.Input(), nil); err != nil {
			return err
		}
	}
	if statedir.NotExists(h.dir.Record()) {
		if err := statedir.WriteJSON(h.dir.Record(), record); err != nil {
			return err
		}
	}
	if statedir.NotExists(h.dir.Instance()) {
		if err := statedir.WriteFile(h.dir.Instance(), []byte(token)); err != nil {
			return err
		}
	}
	if statedir.NotExists(h.dir.Sock()) {
		return h.reopen()
	}
	return nil
}

// reopen makes the socket again. Connections through the previous one go on.
func (h *host) reopen() error {
	listener, err := listen(h.dir.Sock())
	if err != nil {
		return err
	}
	_ = h.listener.Close() // it cannot be reached any more
	h.listener = listener
	h.server.accept(listener)
	return nil
}
