package workers

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/worker"
)

const (
	// unseenWithin is how long a run that this controller started is kept although no snapshot
	// shows it: a snapshot may be older than the start.
	unseenWithin = 30 * time.Second
	// loadMemoryRetry is the pause before a session's memory is read again, and before a hand-over is
	// queued again.
	loadMemoryRetry = time.Second

	// maxFenced is how many tokens of ended runs are kept, to answer their workers with
	// worker.ErrFenced. maxPast is how many replaced runs are kept, to ignore snapshots that still
	// show them.
	maxFenced = 4096
	maxPast   = 4096
)

// syncRun compares the engine's run of a session with the controller's snapshot. It loads a run
// that the engine does not know, and ends a run whose instance has stopped.
func (e *Engine) syncRun(ctx context.Context, name string) {
	v, err := e.opts.City.Snapshot(name)
	if err != nil && !errors.Is(err, client.ErrNotFound) || v.Unknown != "" {
		return // the state of the session is not known
	}
	if v.Token != "" {
		e.loadRun(ctx, v)
		return
	}
	e.mu.Lock()
	a := e.runs[name]
	ends := a != nil && !v.Running && e.mustBeVisibleLocked(a)
	e.mu.Unlock()
	if ends {
		e.end(a)
	}
}

// mustBeVisibleLocked reports whether the controller's snapshots must show this run by now. If they
// do and a snapshot lacks it, the run has ended. The caller holds e.mu.
func (e *Engine) mustBeVisibleLocked(a *liveRun) bool {
	return a.starts == 0 && (a.seen || e.opts.Now().Sub(a.begun) > unseenWithin)
}

// loadRun registers the run that a snapshot shows. It reads the run's memory first.
func (e *Engine) loadRun(ctx context.Context, v session.Snapshot) {
	id := session.RunID(v.Token)
	e.mu.Lock()
	a, past := e.byID[id], e.past[id]
	e.mu.Unlock()
	if past {
		return // the snapshot is older than the run that replaced this one
	}
	if a == nil {
		a = newLiveRun(e, v.Session, v.Agent, v.Token)
	}
	knew := a.hasLoadedMemory()
	if err := a.loadMemory(v.Provider); err != nil {
		e.opts.Logger.Debug("reading the stored state of a worker failed; gc tries again", "session", v.Session, "error", err)
		time.AfterFunc(loadMemoryRetry, func() { e.SessionChanged(v.Session) })
	}
	e.adopt(a)
	e.opts.Joined(a.session)
	if !knew && a.hasLoadedMemory() {
		e.resumeCompaction(ctx, a)
	}
}

// adopt registers a run that a snapshot shows as the run of its session. If another instance was
// the run of that session, that run ends.
func (e *Engine) adopt(a *liveRun) {
	e.mu.Lock()
	now := e.runs[a.session]
	if now != nil && now != a && now.starts == 0 && !e.mustBeVisibleLocked(now) {
		e.mu.Unlock()
		return // the snapshot is older than the start of the present run
	}
	if known := e.byID[a.id]; known != nil && known != a {
		e.mu.Unlock()
		return // a start has registered this run meanwhile: its worker reports to that one
	}
	a.seen = true
	if now != nil && now != a && now.starts == 0 {
		e.forgetLocked(now, true)
	}
	e.runs[a.session] = a
	e.registerLocked(a)
	e.mu.Unlock()
	if now != nil && now != a && now.starts == 0 {
		now.close(session.StreamItem{End: true})
	}
}

// registerLocked registers a run and its tokens.
func (e *Engine) registerLocked(a *liveRun) {
	e.byID[a.id] = a
	generation, told := a.generations()
	for g := told; g <= generation; g++ { // the worker may still have an older token
		plain := session.WorkerToken(a.instance, g)
		token := session.HashToken(plain)
		if _, known := e.tokens[token]; !known {
			e.tokens[token] = tokenGrant{run: a}
			e.opts.Hide(a.instance)
			e.opts.Hide(plain)
		}
		delete(e.fenced, token)
	}
}

// end ends a run whose instance has stopped: its tokens become invalid and its stream is closed.
func (e *Engine) end(a *liveRun) {
	e.mu.Lock()
	last := e.runs[a.session] == a && a.starts == 0
	if last {
		e.forgetLocked(a, false)
	}
	e.mu.Unlock()
	a.close(session.StreamItem{End: true})
	if last {
		e.opts.Retire(a.session)
	}
}

// forgetLocked removes a run and its tokens. If replaced is true, another run has taken its place,
// and an old snapshot that shows it does not load it again. The caller holds e.mu.
func (e *Engine) forgetLocked(a *liveRun, replaced bool) {
	if e.runs[a.session] == a {
		delete(e.runs, a.session)
	}
	if e.byID[a.id] == a {
		delete(e.byID, a.id)
	}
	for token, of := range e.tokens {
		if of.run != a {
			continue
		}
		delete(e.tokens, token)
		e.fenced[token] = true
		if e.order = append(e.order, token); len(e.order) > maxFenced {
			delete(e.fenced, e.order[0])
			e.order = e.order[1:]
		}
	}
	if !replaced || e.past[a.id] {
		return
	}
	e.past[a.id] = true
	if e.pasts = append(e.pasts, a.id); len(e.pasts) > maxPast {
		delete(e.past, e.pasts[0])
		e.pasts = e.pasts[1:]
	}
}

// registerStart registers the run of a start before its agent can connect. The present run of the
// session stays until the start has succeeded. Concurrent starts of one instance share one run.
func (e *Engine) registerStart(name, agent, instance string) *liveRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.byID[session.RunID(instance)]
	if a == nil {
		a = newLiveRun(e, name, agent, instance)
		a.begun, a.memoryLoaded, a.contextLog.Pending = e.opts.Now(), true, true
		a.minted = a.begun
	}
	a.starts++
	e.registerLocked(a)
	return a
}

// finishStart makes a started run the run of its session and ends the previous run.
func (e *Engine) finishStart(a *liveRun) {
	e.mu.Lock()
	a.starts--
	a.begun, a.seen = e.opts.Now(), false
	was := e.runs[a.session]
	if was != nil && was != a {
		e.forgetLocked(was, true)
	}
	e.runs[a.session] = a
	e.registerLocked(a)
	e.mu.Unlock()
	if was != nil && was != a {
		was.close(session.StreamItem{End: true})
	}
}

// cancelStart removes the run of a failed start, unless another start of the same instance is in
// progress or has succeeded.
func (e *Engine) cancelStart(a *liveRun) {
	e.mu.Lock()
	a.starts--
	gone := a.starts == 0 && e.runs[a.session] != a
	if gone {
		e.forgetLocked(a, false)
	}
	e.mu.Unlock()
	if gone {
		a.close(session.StreamItem{End: true})
	}
}

// runOf returns the run of a session, or nil if none is known.
func (e *Engine) runOf(name string) *liveRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[name]
}

// runByID returns the run with an ID, or an [unknownRunError].
func (e *Engine) runByID(id string) (*liveRun, error) {
	find := func() *liveRun {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.byID[id]
	}
	if a := find(); a != nil {
		return a, nil
	}
	synced := e.hasSynced()
	if a := find(); a != nil { // it was loaded in between
		return a, nil
	}
	return nil, &unknownRunError{id, synced}
}

// Authenticate returns the caller that a token belongs to: the worker of a run, or the owner of the
// city. It returns an error for a token that is unknown or belongs to an ended run. It implements
// workerapi.Tokens.
func (e *Engine) Authenticate(token string) (session.RunCaller, error) {
	hash := session.HashToken(token)
	if e.opts.Owner != "" && hash == e.owner {
		return session.RunCaller{Owner: true}, nil
	}
	r, err := e.callerOf(hash)
	if !errors.Is(err, errNoToken) {
		return r, err
	}
	if !e.hasSynced() {
		return session.RunCaller{}, errEarly
	}
	if r, err = e.callerOf(hash); !errors.Is(err, errNoToken) { // its run was loaded in between
		return r, err
	}
	return session.RunCaller{}, errUnknownToken
}

// errNoToken is the error of callerOf for a token that it does not know.
var errNoToken = errors.New("no run has this token")

// callerOf returns the run that a token identifies, by its hash.
func (e *Engine) callerOf(hash [sha256.Size]byte) (session.RunCaller, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := e.tokens[hash]
	switch {
	case of.run != nil && (of.until.IsZero() || e.opts.Now().Before(of.until)):
		return session.RunCaller{Run: of.run.id}, nil
	case of.run != nil:
		return session.RunCaller{}, errUnknownToken // a newer token has replaced it
	case e.fenced[hash]:
		return session.RunCaller{}, errFenced
	}
	return session.RunCaller{}, errNoToken
}

// unknownRunError is the error for a run that the engine does not know. settled is true if the
// engine knows every run of the city.
type unknownRunError struct {
	id      string
	settled bool
}

// Error returns the message for people.
func (u *unknownRunError) Error() string {
	if !u.settled {
		return "the city does not know all its sessions yet; ask again"
	}
	return "there is no run " + u.id
}

// Is reports whether target is worker.ErrNotFound, or worker.ErrUnavailable as long as not all
// sessions are known.
func (u *unknownRunError) Is(target error) bool {
	if !u.settled {
		return target == worker.ErrUnavailable
	}
	return target == worker.ErrNotFound
}
