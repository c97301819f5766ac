package tmux

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/internal/statedir"
	"gascity/runtime"
)

// paneCache caches the state of the panes and publishes their changes as events. It may be outdated: code that
// makes a decision queries the server.
type paneCache struct {
	p   *Provider
	sub *subscription
	wg  sync.WaitGroup
	ctx context.Context //nolint:containedctx // ends at Provider.Close

	seed  maphash.Seed // of digests of screens
	feeds driver.Broadcaster
	dirty chan struct{} // full when the list of sessions must be read again

	mu       sync.Mutex
	panes    map[string]*pane    // by id
	sessions map[string]*pane    // by name
	ended    map[string]struct{} // hashes of instances that have ended for good
	count    uint64              // increases with every session that becomes known
	listener *os.File            // the listener lock: its holder writes logs and answers programs; nil if not held
}

func newPaneCache(p *Provider) *paneCache {
	return &paneCache{
		p: p, seed: maphash.MakeSeed(), dirty: make(chan struct{}, 1), panes: map[string]*pane{}, sessions: map[string]*pane{},
		ended: map[string]struct{}{},
	}
}

// run starts the goroutines of the cache, which run until ctx ends.
func (t *paneCache) run(ctx context.Context) {
	t.ctx = ctx
	if !statedir.NotExists(t.p.server.socket) {
		t.listen()
	}
	t.sub = t.p.server.client.Subscribe()
	t.wg.Go(t.readNotifications)
	t.wg.Go(t.pollSessions)
}

// close waits for the goroutines that run has started and closes the logs. The ctx of run must have ended.
func (t *paneCache) close() {
	t.sub.Close()
	t.wg.Wait()
	t.feeds.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pane := range t.panes {
		pane.close()
	}
	if t.listener != nil {
		_ = t.listener.Close() // closing releases the lock
	}
}

// readNotifications updates the cache from the notifications of the tmux server, until ctx ends.
func (t *paneCache) readNotifications() {
	for {
		e, err := t.sub.Next(t.ctx)
		if err != nil {
			return
		}
		switch e.Kind { //nolint:exhaustive // the others change nothing that is asked for
		case eventOutput:
			t.output(e)
		case eventServerLost:
			t.serverLost(e.Text)
		case eventResync:
			t.feeds.Publish(runtime.Event{Kind: runtime.EventResync, Time: time.Now()})
			t.bump()
			t.markDirty()
		case eventClientSession, eventClientDetached, eventPaneMode, eventLayout:
			t.bump()
			t.markDirty()
		case eventSessionsChanged, eventWindowAdd, eventWindowClose:
			t.markDirty()
		}
	}
}

// markDirty causes pollSessions to read the list of sessions again.
func (t *paneCache) markDirty() {
	select {
	case t.dirty <- struct{}{}:
	default:
	}
}

// bump marks every screen as possibly changed.
func (t *paneCache) bump() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pane := range t.panes {
		pane.screenChangedLocked()
	}
}

// output handles a notification of tmux with new output of a pane. A pane that is not known yet is added.
func (t *paneCache) output(e controlEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pane := t.panes[e.Pane]
	if pane == nil {
		pane = t.paneLocked(e.Pane)
		t.markDirty()
	}
	pane.handleOutputLocked(e.Data, time.Now())
}

// paneLocked adds a new pane to the cache and returns it.
func (t *paneCache) paneLocked(id string) *pane {
	pane := newPane(t, id)
	t.panes[id] = pane
	return pane
}

// serverLost handles the exit of the server: it ends all sessions and removes all panes. why is the reason for the
// log and the event.
func (t *paneCache) serverLost(why string) {
	t.endLostSessions(math.MaxUint64, why)
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, pane := range t.panes {
		pane.close()
		pane.screenChangedLocked()
		delete(t.panes, id)
	}
}

// endLostSessions marks the sessions with a number up to known as ended, because their server is gone. It publishes
// one ServerLost event and one log line for all of them.
func (t *paneCache) endLostSessions(known uint64, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, pane := range t.sessions {
		if pane.number > known {
			continue
		}
		if n++; n == 1 {
			t.feeds.Publish(runtime.Event{Kind: runtime.EventServerLost, Time: time.Now(), Text: why})
		}
		t.endLocked(pane)
	}
	if n > 0 {
		t.p.cfg.Logger.Error("the tmux server is gone, its sessions are lost", "sessions", n, "why", why)
	}
}

// pollShare limits the load on the server while many sessions start or stop. After each poll, pollSessions pauses
// for pollShare times the duration of the poll, at most outputPause.
const pollShare = 4

// pollSessions reads the list of sessions whenever it may have changed.
func (t *paneCache) pollSessions() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-t.ctx.Done():
			return
		}
		select {
		case <-t.dirty:
		case <-t.ctx.Done():
			return
		}
		asked := time.Now()
		t.mu.Lock()
		began := t.count
		t.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.ctx, driver.CallTimeout)
		list, strays, err := t.p.server.List(ctx)
		absent := isAbsent(err)
		if err != nil && !absent && t.ctx.Err() == nil && !errors.Is(err, errClosed) {
			t.p.cfg.Logger.Warn("cannot list the sessions of tmux", "error", err)
		}
		if absent {
			t.endLostSessions(began, err.Error())
		}
		if err == nil {
			t.listen()
			t.applyList(list, began)
			t.p.server.RestoreSizes(ctx, list)
			t.p.server.Sweep(ctx, strays)
			if err := t.p.server.RemoveStaleClients(ctx); err != nil && !isAbsent(err) && t.ctx.Err() == nil {
				t.p.cfg.Logger.Debug("cannot remove stale tmux clients", "error", err)
			}
		}
		cancel()
		pause.Reset(min(pollShare*time.Since(asked), outputPause))
	}
}

// applyList updates the cache by a complete list of sessions. began is the value of count when the list was
// queried. Sessions with a larger number may be missing in the list.
func (t *paneCache) applyList(list []paneState, began uint64) {
	there := map[string]bool{}
	for _, s := range list {
		there[s.Hash] = true
		t.publishChanges(s)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pane := range t.sessions {
		if !there[pane.hash] && pane.number <= began {
			t.endLocked(pane)
		}
	}
}

// update applies s, the new state of one session, to the cache (in publishChanges), and returns the session's pane. If s has no
// such pane any more, the result is a pane without a state that is not in the cache.
func (t *paneCache) update(r *record, s paneState) *pane {
	t.publishChanges(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	pane := t.panes[r.Pane]
	if pane == nil {
		pane = newPane(t, r.Pane)
		pane.name, pane.hash = r.Name, r.hash()
	}
	return pane
}

// publishChanges compares the state of a pane with the cached one, updates the cache and publishes an event for each
// change.
func (t *paneCache) publishChanges(s paneState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, over := t.ended[s.Hash]; over {
		return
	}
	known := t.sessions[s.Name]
	if known != nil && known.hash != s.Hash {
		t.replaceLocked(known, s)
		known = nil
	}
	now := time.Now()
	if known == nil {
		if known = t.panes[s.Pane]; known == nil {
			known = t.paneLocked(s.Pane)
		}
		t.count++
		known.name, known.hash, known.number = s.Name, s.Hash, t.count
		t.sessions[s.Name] = known
		known.openLog()
		known.answerLocked()
		known.saveLocked()
		t.feeds.Publish(runtime.Event{Kind: runtime.EventStarted, Session: s.Name, Time: now})
	}
	if known.attached != s.Attached {
		known.attached = s.Attached
		known.screenChangedLocked()
		t.markDirty() // tmux before 3.2 does not report a detach; the poll restores the window's size
		t.feeds.Publish(runtime.Event{Kind: runtime.EventAttached, Session: s.Name, Time: now, Attached: s.Attached})
	}
	switch {
	case s.Dead && !s.Collected: // awaitEnd queries again
	case s.Dead && !known.dead:
		known.dead = true
		known.screenChangedLocked()
		t.p.server.InvalidateSessions()
		exit := s.Exit
		t.feeds.Publish(runtime.Event{Kind: runtime.EventExited, Session: s.Name, Time: now, Exit: &exit})
	case !s.Dead && (known.dead || known.pid != s.PID):
		if known.pid == 0 && known.reported { // on a loaded machine the first reports come before the answer with the pid
			known.signs.SetUnknownGroup(foregroundOf(s.PID))
		}
		known.dead, known.pid = false, s.PID
		t.p.server.InvalidateSessions()
		t.wg.Go(func() { t.awaitEnd(known, s.PID) })
	}
}

// replaceLocked removes an instance that another one has replaced. It publishes no Gone event for a relaunch, which
// keeps the pane.
func (t *paneCache) replaceLocked(known *pane, s paneState) {
	if known.id != s.Pane {
		t.endLocked(known)
		return
	}
	t.removeLocked(known)
}

// endLocked removes an instance that has ended and publishes a Gone event.
func (t *paneCache) endLocked(pane *pane) {
	t.removeLocked(pane)
	t.feeds.Publish(runtime.Event{Kind: runtime.EventGone, Session: pane.name, Time: time.Now()})
}

// removeLocked removes an instance from the cache and marks it as ended.
func (t *paneCache) removeLocked(pane *pane) {
	t.ended[pane.hash] = struct{}{}
	t.p.server.InvalidateSessions()
	t.p.records.Drop(t.p.dir(pane.name))
	if t.sessions[pane.name] == pane {
		delete(t.sessions, pane.name)
	}
	if t.panes[pane.id] == pane {
		delete(t.panes, pane.id)
	}
	pane.dead = true
	pane.screenChangedLocked()
	pane.close()
}

// recordStopped removes an instance that this process has stopped.
func (t *paneCache) recordStopped(name, hash string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if pane := t.sessions[name]; pane != nil && pane.hash == hash {
		t.endLocked(pane)
	}
	t.ended[hash] = struct{}{}
	t.p.server.InvalidateSessions()
}

// reapLimit is the longest time that awaitEnd waits for the server to collect a pane's process.
const reapLimit = 15 * time.Second

// awaitEnd waits until the pane's process has exited and the server has collected it, and publishes the exit. The
// server knows the exit status only then.
func (t *paneCache) awaitEnd(pane *pane, pid int) {
	info, err := proc.Stat(pid)
	if err == nil {
		err = proc.WaitGone(t.ctx, info.ID)
	}
	t.p.server.InvalidateSessions()
	if t.ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, proc.ErrGone) {
		t.p.cfg.Logger.Warn("cannot wait for the exit of an agent", "session", pane.name, "error", err)
		return
	}
	end := time.Now().Add(reapLimit)
	for delay := retry.New(time.Millisecond, 100*time.Millisecond); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(t.ctx, driver.CallTimeout)
		s, err := t.p.server.FinalState(ctx, pane.id, pane.hash, pane.id) // the pane is addressed by its ID
		cancel()
		if err != nil {
			t.markDirty()
			return
		}
		if s.Dead || s.PID != pid {
			t.publishChanges(s)
			return
		}
		if info, err := proc.Stat(pid); err == nil && info.Ended() {
			wakeReaper(info)
		}
		if !delay.Wait(t.ctx) {
			return
		}
	}
}

// listen tries to make this process the listener: the one gc process that writes the output of the panes to their logs
// and answers the terminal queries of their programs. It does nothing if another process holds the listener's lock.
func (t *paneCache) listen() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listener != nil {
		return
	}
	file, err := tryLock(t.lock())
	if err != nil {
		return // the next poll tries again
	}
	t.listener = file
	for _, pane := range t.sessions {
		pane.openLog()
	}
}

// releaseListener releases the listener lock if this process is not connected to the server and so receives no
// output.
func (t *paneCache) releaseListener() {
	_, _, connected := t.p.server.client.Server()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listener != nil && !connected {
		_ = t.listener.Close() // nothing was written
		t.listener = nil
	}
}

// lock returns the path of the listener lock.
func (t *paneCache) lock() string { return filepath.Join(t.p.cfg.Dir, "listener.lock") }

// stopListening releases the listener lock and removes its file if no session is left.
func (t *paneCache) stopListening() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listener != nil && len(t.sessions) == 0 {
		_ = os.Remove(t.lock()) // while this process holds the lock
		_ = t.listener.Close()  // nothing was written
		t.listener = nil
	}
}
