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

	"gascity/internal/driver/broadcast"
	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/tmux/control"
	"gascity/internal/tmux/server"
	"gascity/runtime"
)

// paneCache is what this process knows of the sessions. It decides nothing: who needs the
// truth asks the server. It notifies when something has changed.
type paneCache struct {
	p   *Provider
	sub *control.Subscription
	wg  sync.WaitGroup
	ctx context.Context //nolint:containedctx // the provider's life

	seed  maphash.Seed // of digests of screens
	feeds broadcast.Broadcaster
	dirty chan struct{} // full when the list of sessions is to be read again

	mu       sync.Mutex
	panes    map[string]*pane    // by id
	sessions map[string]*pane    // by name
	ended    map[string]struct{} // hashes of instances that are over: none comes back
	count    uint64              // increases with every session that becomes known
	listener *os.File            // the lock of the process that keeps logs and answers; nil if another one has it
}

func newPaneCache(p *Provider) *paneCache {
	return &paneCache{
		p: p, seed: maphash.MakeSeed(), dirty: make(chan struct{}, 1), panes: map[string]*pane{}, sessions: map[string]*pane{},
		ended: map[string]struct{}{},
	}
}

// run listens until ctx ends.
func (t *paneCache) run(ctx context.Context) {
	t.ctx = ctx
	if !statedir.NotExists(t.p.server.Socket()) {
		t.listen()
	}
	t.sub = t.p.server.Client().Subscribe(control.OutputData)
	t.wg.Go(t.readNotifications)
	t.wg.Go(t.pollSessions)
}

// close returns when everything has ended that run began. Its ctx has ended.
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
		_ = t.listener.Close() // which gives the lock back
	}
}

// readNotifications takes the server's notifications.
func (t *paneCache) readNotifications() {
	for {
		e, err := t.sub.Next(t.ctx)
		if err != nil {
			return
		}
		switch e.Kind { //nolint:exhaustive // the others change nothing that is asked for
		case control.Output:
			t.output(e)
		case control.ServerLost:
			t.serverLost(e.Text)
		case control.Resync:
			t.feeds.Publish(runtime.Event{Kind: runtime.EventResync, Time: time.Now()})
			t.bump()
			t.markDirty()
		case control.ClientSession, control.ClientDetached, control.PaneMode, control.Layout:
			t.bump()
			t.markDirty()
		case control.SessionsChanged, control.WindowAdd, control.WindowClose:
			t.markDirty()
		}
	}
}

// markDirty has the list read again.
func (t *paneCache) markDirty() {
	select {
	case t.dirty <- struct{}{}:
	default:
	}
}

// bump makes every screen one that may have changed.
func (t *paneCache) bump() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pane := range t.panes {
		pane.bumpLocked()
	}
}

func (t *paneCache) output(e control.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pane := t.panes[e.Pane]
	if pane == nil {
		pane = t.paneLocked(e.Pane)
		t.markDirty()
	}
	pane.handleOutputLocked(e.Data, time.Now())
}

func (t *paneCache) paneLocked(id string) *pane {
	pane := newPane(t, id)
	t.panes[id] = pane
	return pane
}

// serverLost records that the server has ended.
func (t *paneCache) serverLost(why string) {
	t.endLostSessions(math.MaxUint64, why)
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, pane := range t.panes {
		pane.close()
		pane.bumpLocked()
		delete(t.panes, id)
	}
}

// endLostSessions ends the first known sessions, whose server is gone: that is one line in the log and
// one event, whichever process finds it out first.
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

// pollShare bounds what surveys take of the server's time, while many sessions come or go:
// each is followed by a pause of so many times what it took.
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
		ctx, cancel := context.WithTimeout(t.ctx, opTimeout)
		list, strays, err := t.p.server.List(ctx)
		absent := server.Absent(err)
		if err != nil && !absent && t.ctx.Err() == nil && !errors.Is(err, control.ErrClosed) {
			t.p.cfg.Logger.Warn("cannot list the sessions of tmux", "error", err)
		}
		if absent {
			t.endLostSessions(began, err.Error())
		}
		if err == nil {
			t.listen()
			t.compare(list, began)
			t.p.server.RestoreSizes(ctx, list)
			t.p.server.Sweep(ctx, strays)
			if err := t.p.server.RemoveStaleClients(ctx); err != nil && !server.Absent(err) && t.ctx.Err() == nil {
				t.p.cfg.Logger.Debug("cannot tidy up the clients of tmux", "error", err)
			}
		}
		cancel()
		pause.Reset(min(pollShare*time.Since(asked), outputPause))
	}
}

// compare takes a whole list that was asked for when began sessions had become known.
func (t *paneCache) compare(list []server.State, began uint64) {
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

// update takes the state of one session and returns its pane.
func (t *paneCache) update(r *record, s server.State) *pane {
	t.publishChanges(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	pane := t.panes[r.Pane]
	if pane == nil { // it has just ended
		pane = newPane(t, r.Pane)
		pane.name, pane.hash = r.Name, r.hash()
	}
	return pane
}

// publishChanges compares one state with what is known and reports what has changed.
func (t *paneCache) publishChanges(s server.State) {
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
		known.bumpLocked()
		t.markDirty() // a tmux before 3.2 does not report that somebody left; what they shrank is to be fitted
		t.feeds.Publish(runtime.Event{Kind: runtime.EventAttached, Session: s.Name, Time: now, Attached: s.Attached})
	}
	switch {
	case s.Dead && !s.Collected: // who waits for its end asks again
	case s.Dead && !known.dead:
		known.dead = true
		known.bumpLocked()
		t.p.server.InvalidateSessions()
		exit := s.Exit
		t.feeds.Publish(runtime.Event{Kind: runtime.EventExited, Session: s.Name, Time: now, Exit: &exit})
	case !s.Dead && (known.dead || known.pid != s.PID):
		known.dead, known.pid = false, s.PID
		t.p.server.InvalidateSessions()
		t.wg.Go(func() { t.awaitEnd(known, s.PID) })
	}
}

// replaceLocked records that another instance has come in the place of one. In its
// warm box it is not gone before.
func (t *paneCache) replaceLocked(known *pane, s server.State) {
	if known.id != s.Pane {
		t.endLocked(known)
		return
	}
	t.removeLocked(known)
}

// endLocked records that an instance is over.
func (t *paneCache) endLocked(pane *pane) {
	t.removeLocked(pane)
	t.feeds.Publish(runtime.Event{Kind: runtime.EventGone, Session: pane.name, Time: time.Now()})
}

func (t *paneCache) removeLocked(pane *pane) {
	t.ended[pane.hash] = struct{}{}
	t.p.server.InvalidateSessions()
	t.p.records.drop(t.p.dir(pane.name))
	if t.sessions[pane.name] == pane {
		delete(t.sessions, pane.name)
	}
	if t.panes[pane.id] == pane {
		delete(t.panes, pane.id)
	}
	pane.dead = true
	pane.bumpLocked()
	pane.close()
}

// recordStopped records that this process has ended an instance.
func (t *paneCache) recordStopped(name, hash string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if pane := t.sessions[name]; pane != nil && pane.hash == hash {
		t.endLocked(pane)
	}
	t.ended[hash] = struct{}{}
	t.p.server.InvalidateSessions()
}

// reapLimit bounds how long the server takes to notice the end of a process of its own.
const reapLimit = 15 * time.Second

// awaitEnd waits until the pane's process has ended, and then until the server has
// collected it: only then it knows how.
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
		t.p.cfg.Logger.Warn("cannot wait for the end of an agent", "session", pane.name, "error", err)
		return
	}
	end := time.Now().Add(reapLimit)
	for pause := time.Millisecond; time.Now().Before(end); pause = min(2*pause, 100*time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.ctx, opTimeout)
		s, err := t.p.server.FinalState(ctx, pane.id, pane.hash, pane.id)
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
			server.WakeReaper(info)
		}
		select {
		case <-time.After(pause):
		case <-t.ctx.Done():
			return
		}
	}
}

// listen makes this process the one that keeps the logs and answers programs, if no
// other process is.
func (t *paneCache) listen() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listener != nil {
		return
	}
	file, err := server.TryLock(t.lock())
	if err != nil {
		return // the next survey tries again
	}
	t.listener = file
	for _, pane := range t.sessions {
		pane.openLog()
	}
}

// releaseListener lets another process keep the logs, unless this one is connected: it hears nothing.
func (t *paneCache) releaseListener() {
	_, _, connected := t.p.server.Client().Server()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listener != nil && !connected {
		_ = t.listener.Close() // nothing was written
		t.listener = nil
	}
}

func (t *paneCache) lock() string { return filepath.Join(t.p.cfg.Dir, "listener.lock") }

// unlisten is the end of that, when no session is left.
func (t *paneCache) unlisten() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listener != nil && len(t.sessions) == 0 {
		_ = os.Remove(t.lock()) // while it is ours
		_ = t.listener.Close()  // nothing was written
		t.listener = nil
	}
}
