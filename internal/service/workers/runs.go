package workers

import (
	"errors"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/domain/workerrun"
	"gascity/worker"
)

const (
	// unseenWithin is how long a run that was started here is relied on although the
	// controller does not show it: what it shows may be older than the start.
	unseenWithin = 30 * time.Second
	// recallAgain is the pause before a session's memory is read again.
	recallAgain = time.Second

	// The bounds of what is remembered of runs that have ended, to send their workers
	// more than that they are unknown, and not to take an older view for news.
	maxFenced = 4096
	maxPast   = 4096
)

// follow follows what the controller knows of a session: a run that it sees and the
// engine does not is taken up, one whose instance has ended is ended.
func (e *Engine) follow(name string) {
	v, err := e.opts.City.Snapshot(name)
	if err != nil && !errors.Is(err, client.ErrNotFound) || v.Unknown != "" {
		return // nothing is known
	}
	if v.Token != "" {
		e.loadRun(v)
		return
	}
	e.mu.Lock()
	a := e.runs[name]
	ends := a != nil && !v.Running && e.overdueLocked(a)
	e.mu.Unlock()
	if ends {
		e.end(a)
	}
}

// overdueLocked reports whether a view that does not show a run says something.
func (e *Engine) overdueLocked(a *liveRun) bool {
	return a.starts == 0 && (a.seen || e.opts.Now().Sub(a.begun) > unseenWithin)
}

// loadRun makes the run of a view known. Its memory is read before anybody can speak
// for it.
func (e *Engine) loadRun(v session.Snapshot) {
	id := workerrun.ID(v.Token)
	e.mu.Lock()
	a, past := e.byID[id], e.past[id]
	e.mu.Unlock()
	if past {
		return // the view is older than what has its place now
	}
	if a == nil {
		a = newLiveRun(e, v.Session, v.Agent, v.Token)
	}
	knew := a.hasRecalled()
	if err := a.recall(v.Provider); err != nil {
		e.opts.Logger.Debug("what a session keeps of its worker cannot be read yet", "session", v.Session, "error", err)
		time.AfterFunc(recallAgain, func() { e.SessionChanged(v.Session) })
	}
	e.adopt(a)
	e.joined(a)
	if !knew && a.hasRecalled() {
		e.resume(a)
	}
}

// adopt gives a run that was seen its place. A run of another instance there is
// ended.
func (e *Engine) adopt(a *liveRun) {
	e.mu.Lock()
	now := e.runs[a.session]
	if now != nil && now != a && now.starts == 0 && !e.overdueLocked(now) {
		e.mu.Unlock()
		return // the view is older than the start of the one that is there
	}
	if known := e.byID[a.id]; known != nil && known != a {
		e.mu.Unlock()
		return // its start has made it known meanwhile: what its worker says is said of that one
	}
	a.seen = true
	if now != nil && now != a && now.starts == 0 {
		e.forgetLocked(now, true)
	}
	e.runs[a.session] = a
	e.registerLocked(a)
	e.mu.Unlock()
	if now != nil && now != a && now.starts == 0 {
		now.close(workerrun.Item{End: true})
	}
}

// registerLocked makes a run and its tokens known.
func (e *Engine) registerLocked(a *liveRun) {
	e.byID[a.id] = a
	generation, told := a.generations()
	for g := told; g <= generation; g++ { // the worker may still have an older one
		plain := workerrun.Token(a.instance, g)
		token := workerrun.HashToken(plain)
		if _, known := e.tokens[token]; !known {
			e.tokens[token] = tokenGrant{run: a}
			e.hide(a.instance)
			e.hide(plain)
		}
		delete(e.fenced, token)
	}
}

func (e *Engine) hide(token string) {
	if e.opts.Hide != nil {
		e.opts.Hide(token)
	}
}

// end ends a run: its tokens are dead, its stream over.
func (e *Engine) end(a *liveRun) {
	e.mu.Lock()
	last := e.runs[a.session] == a && a.starts == 0
	if last {
		e.forgetLocked(a, false)
	}
	e.mu.Unlock()
	a.close(workerrun.Item{End: true})
	if last && e.opts.Retire != nil {
		e.opts.Retire(a.session)
	}
}

// forgetLocked takes a run away. If another one has its place it never comes back.
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

// expect makes the run of a start known before its agent can speak. The run of the
// name, if there is one, stays until the start has succeeded: it may not be this
// caller's to replace. Starts of one instance have one run.
func (e *Engine) expect(name, agent, instance string) *liveRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.byID[workerrun.ID(instance)]
	if a == nil {
		a = newLiveRun(e, name, agent, instance)
		a.begun, a.recalled, a.contextLog.Pending = e.opts.Now(), true, e.opts.Sections != nil
		a.minted = a.begun
	}
	a.starts++
	e.registerLocked(a)
	return a
}

// started gives a run that has been started its place.
func (e *Engine) started(a *liveRun) {
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
		was.close(workerrun.Item{End: true})
	}
}

// abandon takes the run of a start back that has failed, unless it runs all the same,
// by another start.
func (e *Engine) abandon(a *liveRun) {
	e.mu.Lock()
	a.starts--
	gone := a.starts == 0 && e.runs[a.session] != a
	if gone {
		e.forgetLocked(a, false)
	}
	e.mu.Unlock()
	if gone {
		a.close(workerrun.Item{End: true})
	}
}

// of returns the run of a session, nil if none is known.
func (e *Engine) of(name string) *liveRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[name]
}

// named returns a run by its id.
func (e *Engine) named(id string) (*liveRun, error) {
	e.mu.Lock()
	a := e.byID[id]
	e.mu.Unlock()
	if a == nil {
		return nil, &unknownRunError{id, e.hasSynced()}
	}
	return a, nil
}

// Authenticate implements workerapi.Tokens.
func (e *Engine) Authenticate(token string) (workerrun.Caller, error) {
	folded := workerrun.HashToken(token)
	if e.opts.Owner != "" && folded == e.owner {
		return workerrun.Caller{Owner: true}, nil
	}
	e.mu.Lock()
	of, fenced := e.tokens[folded], e.fenced[folded]
	e.mu.Unlock()
	switch {
	case of.run != nil && (of.until.IsZero() || e.opts.Now().Before(of.until)):
		return workerrun.Caller{Run: of.run.id}, nil
	case of.run != nil:
		return workerrun.Caller{}, errUnknownToken // another one has taken its place
	case fenced:
		return workerrun.Caller{}, errFenced
	case !e.hasSynced():
		return workerrun.Caller{}, errEarly
	}
	return workerrun.Caller{}, errUnknownToken
}

// unknownRunError is a run that the engine does not know.
type unknownRunError struct {
	id      string
	settled bool
}

func (u *unknownRunError) Error() string {
	if !u.settled {
		return "the city does not know all its sessions yet; ask again"
	}
	return "there is no run " + u.id
}

// Is reports whether target is the sentinel of the answer: a run may turn up as long
// as not all sessions are known.
func (u *unknownRunError) Is(target error) bool {
	if !u.settled {
		return target == worker.ErrUnavailable
	}
	return target == worker.ErrNotFound
}
