package shim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/vt"
)

// run holds the streams and the exit of one agent process.
type run struct {
	streams *childStreams
	input   *childInput
	exit    *Exit         // guarded by the host's mu; nil until the exit is known
	done    chan struct{} // closed after exit is set
}

// close closes the terminal or the pipes and waits until their reader has stopped. Else the reader could write output into the
// next agent's screen.
func (r *run) close() error {
	r.input.Close()
	return r.streams.Close()
}

// launch starts the agent's process. The caller must have called acquireTurn, unless no other can. If launch
// returns an error, it has stopped what it started.
func (h *host) launch() error {
	record, err := h.newRecord()
	if err != nil {
		return err
	}
	// The record is written before the agent starts, so that the agent can be found if the shim is killed right after the
	// start.
	if err := h.resetRecord(record); err != nil {
		return err
	}
	streams, err := openStreams(&h.spec)
	if err != nil {
		return err
	}
	root, ended, err := h.tree.Start(func() (proc.ID, error) { return streams.Start(&h.spec) })
	if err != nil {
		return errors.Join(fmt.Errorf("cannot run %s: %w", filepath.Base(h.spec.Argv[0]), err), streams.Close())
	}
	record.Root = root
	if err := statedir.WriteJSON(h.dir.Record(), record); err != nil {
		_, stopErr := h.tree.Stop(0)
		return errors.Join(err, stopErr, streams.Close())
	}
	r := &run{streams: streams, input: streams.Input(h.ctx), done: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.record, h.agent, h.exit, h.exitSaved, h.run, h.stopping = record, root, nil, false, r, false
	h.signs, h.title = vt.SignTracker{}, ""
	h.deliveries.Restart()
	h.bumpLocked()
	streams.Follow(h.write)
	go h.follow(r, ended)
	return nil
}

// newRecord returns the record of an agent that has not started yet.
func (h *host) newRecord() (Record, error) {
	self, err := proc.Self()
	if err != nil {
		return Record{}, err
	}
	boot, err := proc.BootID()
	return Record{
		Version: recordVersion, Name: h.spec.Name, Shim: self, Boot: boot, StartedAt: time.Now(), Terminal: h.spec.Terminal,
		WorkDir: h.spec.Dir, ProcessNames: h.spec.ProcessNames, LogPath: h.spec.LogPath, Labels: h.spec.Labels,
	}, err
}

// resetRecord writes the record of an agent that is about to start, and removes the exit record of the previous agent.
func (h *host) resetRecord(record Record) error {
	err := statedir.WriteJSON(h.dir.Record(), record)
	if err == nil {
		err = os.Remove(h.dir.ExitRecord())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// follow waits until the agent has exited and records its exit.
func (h *host) follow(r *run, ended <-chan childEnd) {
	defer close(r.done)
	end := <-ended
	h.waitForDescendants(r, end)
	r.streams.Drain()
	exit := exitOf(end.Status)
	h.mu.Lock()
	defer h.mu.Unlock()
	r.exit = &exit
	if !h.stopping {
		h.concludeLocked()
	}
}

// descendantRetry is the delay before a failed scan for surviving descendants is
// retried.
const descendantRetry = 100 * time.Millisecond

// waitForDescendants waits until no process is left that continues as the agent, such as a fork whose parent exited. Other
// child processes and background jobs do not count.
func (h *host) waitForDescendants(r *run, end childEnd) {
	for {
		changed := h.tree.Changed()
		descendants, err := h.tree.SurvivingDescendants(end, h.spec.ProcessNames)
		if err == nil && len(descendants) == 0 {
			return
		}
		retry := make(<-chan time.Time)
		if err != nil || !isSubreaper {
			retry = time.After(descendantRetry)
		}
		h.mu.Lock()
		if len(descendants) > 0 && h.run == r {
			h.agent = descendants[0]
		}
		h.mu.Unlock()
		select {
		case <-changed:
		case <-retry:
		}
	}
}

// concludeLocked records the exit of the current agent. It writes the exit record to disk before it notifies watchers.
func (h *host) concludeLocked() {
	if h.exit != nil || h.run.exit == nil {
		return
	}
	h.exit = h.run.exit
	if err := h.saveExitRecordLocked(joinLines(h.display.Lines(0))); err != nil {
		fmt.Fprintln(os.Stderr, "shim: cannot save the last output:", err)
	}
	h.run.input.Close()
	h.bumpLocked()
	linger := lingerLimit
	if h.events.publish(Event{Kind: EventExited, Time: h.exit.At, Exit: h.exit}) {
		linger = lingerSeen
	}
	h.expireLocked(linger)
}

// saveExitRecordLocked writes the exit record with the given output, unless it is already on disk.
func (h *host) saveExitRecordLocked(text string) error {
	if h.exitSaved {
		return nil
	}
	err := statedir.WriteJSON(h.dir.ExitRecord(), ExitRecord{Exit: *h.exit, Title: h.title, Text: text, LastActivity: h.lastOutput})
	h.exitSaved = err == nil
	return err
}

// lingerLimit is how long a shim runs after its agent has exited if no client asks for the exit; lingerSeen is how long it runs
// after a client got it. The exit record is on disk by then.
const (
	lingerLimit = 30 * time.Second
	lingerSeen  = time.Second
)

// expireLocked makes the shim exit after the given time, unless the agent is relaunched.
func (h *host) expireLocked(after time.Duration) {
	exit := h.exit
	time.AfterFunc(after, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.exit == nil || h.exit != exit || h.stopping {
			return
		}
		// On a full disk there may be space for the exit without the output. If the exit cannot be written either, the shim
		// keeps running, because the exit is stored nowhere else.
		if h.saveExitRecordLocked(joinLines(h.display.Lines(0))) != nil && h.saveExitRecordLocked("") != nil {
			h.expireLocked(lingerSeen)
			return
		}
		h.closing(errDone)
	})
}

// exitOf converts the wait status of a process. If a signal ended the process, the code is -1 and the signal is named.
func exitOf(status syscall.WaitStatus) Exit {
	e := Exit{Code: status.ExitStatus(), At: time.Now()}
	if status.Signaled() {
		e.Code, e.Signal = -1, status.Signal().String()
	}
	return e
}

// acquireTurn waits for the right to start or stop agents; the caller gives it back with returnTurn. It returns [ErrExited]
// when the shim is stopping.
func (h *host) acquireTurn(ctx context.Context) (returnTurn func(), err error) {
	select {
	case <-h.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-h.ctx.Done():
		return nil, ErrExited
	}
	if h.ctx.Err() != nil {
		h.turn <- struct{}{}
		return nil, ErrExited
	}
	return func() { h.turn <- struct{}{} }, nil
}
