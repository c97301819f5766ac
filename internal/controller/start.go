package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"sync"
	"time"

	"gascity/internal/event"
	"gascity/internal/launch"
	"gascity/internal/plan"
	"gascity/internal/session"
	"gascity/runtime"
)

// claim prepares the next incarnation: its number and its token. The start
// waits until the store has both, so that no crash of the controller can begin
// the same one twice or forget that it was begun.
func (l *loop) claim(e *entry, s *plan.Session) {
	e.claimed = true
	e.rec.Epoch++
	e.rec.Token, e.rec.Handle = l.c.opts.NewToken(), ""
	e.rec.Instance = session.PublicInstance(e.rec.Token)
	e.rec.Stored, e.rec.StartedAt, e.rec.Running = fingerprints(s), l.now(), true
	e.rec.Agent = s.Agent
	e.touch()
}

// release gives back what was claimed and not begun.
func (l *loop) release() {
	for _, e := range l.entries {
		l.unclaim(e)
	}
}

func (l *loop) unclaim(e *entry) {
	if e.claimed && e.job == nil {
		e.claimed, e.rec.Running = false, false
		e.touch()
	}
}

// attempt is one start under way. Its deadline moves as long as the agent shows
// progress.
type attempt struct {
	began  time.Time
	limit  time.Duration // without progress
	due    time.Time
	hard   time.Time     // the deadline moves no further
	moved  time.Time     // the last sign of progress
	giveUp chan struct{} // closed when the deadline has passed
	given  bool
	screen string // what stood there then; written by the job before it returns
}

const (
	progressWindow = 5 * time.Second // a start that printed within it is not cut off
	hardLimit      = 5               // times the limit of a start without progress
	peekLimit      = 2 * time.Second // for the screen of a start that is given up
)

func newAttempt(now time.Time, limit time.Duration) *attempt {
	if limit <= 0 {
		limit = startLimit
	}
	return &attempt{began: now, limit: limit, due: now.Add(limit), hard: now.Add(hardLimit * limit), giveUp: make(chan struct{})}
}

// judge moves the deadline or gives the attempt up.
func (a *attempt) judge(now time.Time) {
	if a.given || now.Before(a.due) {
		return
	}
	if next := a.moved.Add(progressWindow); next.After(now) && now.Before(a.hard) {
		a.due = next
		if a.due.After(a.hard) {
			a.due = a.hard
		}
		return
	}
	a.given = true
	close(a.giveUp)
}

// run starts the session, and takes its screen before it gives up.
func (a *attempt) run(ctx context.Context, p runtime.Provider, name string, cfg runtime.Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-a.giveUp:
			a.screen = peekWithin(p, name, peekLimit)
			cancel(fmt.Errorf("not done within %v", a.due.Sub(a.began).Round(time.Millisecond)))
		case <-over:
		}
	})
	err := p.Start(ctx, name, cfg)
	close(over)
	wg.Wait()
	return err
}

// peekWithin returns what stands on a screen, empty if it cannot be had in time.
func peekWithin(p runtime.Provider, name string, limit time.Duration) string {
	screens := make(chan string, 1)
	go func() { // a driver that hangs keeps it; nothing else does
		text, err := p.Peek(name, screenLines)
		if err != nil {
			text = ""
		}
		screens <- text
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case text := <-screens:
		return text
	case <-timer.C:
		return ""
	}
}

// judgeStarts moves the deadlines of the starts that are under way.
func (l *loop) judgeStarts() {
	for _, e := range l.entries {
		if e.job == nil || e.job.attempt == nil {
			continue
		}
		a := e.job.attempt
		a.judge(l.now())
		if !a.given {
			l.wakeAt(a.due)
		}
		e.job.overdue = a.due.Add(overdueAfter)
	}
}

// start begins a start that was claimed. It is only called for a session whose
// former incarnation is known to be over.
func (l *loop) start(e *entry, s *plan.Session) {
	p, began, token := e.place.provider, l.now(), e.rec.Token
	e.claimed, e.order = false, plan.OrderNone
	l.c.emit(event.SessionStarting, e, "a start began", map[string]string{"reason": e.action.Reason})
	a := newAttempt(began, s.StartTimeout)
	root := l.c.opts.Root
	l.begin(e, jobStart, plan.VerbStart, hardLimit*a.limit+peekLimit, func(ctx context.Context) func() {
		cfg, err := l.incarnate(ctx, s, token)
		if err == nil {
			err = a.run(ctx, p, s.Name, cfg)
		}
		r := startResult{began: began, token: token, err: err, attempt: a}
		if err == nil {
			r.noteErr = writeNotes(p, s.Name, notes{root, s.Agent, fingerprints(s)})
			r.warning = readNote(p, s.Name, metaWarning)
			r.look = observe(ctx, p, s.Name)
		}
		return func() { l.started(e, s, r) }
	})
	e.job.attempt = a
	e.job.overdue = a.due.Add(overdueAfter)
	l.wakeAt(a.due)
}

// startResult is how a start went.
type startResult struct {
	began   time.Time
	token   string
	attempt *attempt
	err     error
	noteErr error
	warning string // what the start left open
	look    finding
}

func (l *loop) started(e *entry, s *plan.Session, r startResult) {
	e.touch()
	if r.err != nil {
		e.rec.Running = false
		l.startFailed(e, r)
		return
	}
	if r.noteErr != nil {
		l.c.opts.Logger.Warn("a later controller will not know what the session was started with", "session", s.Name, "error", r.noteErr)
	}
	if e.rec.Fault != "" {
		e.rec.Restarts++ // it ended, or did not start, and nobody had asked for that
	}
	e.known, e.owner, e.tries, e.stopAt, e.stopFault = true, plan.OwnerUs, 0, time.Time{}, ""
	e.rec.Exit, e.rec.Screen, e.rec.Fault, e.rec.Lost, e.rec.NextAt = nil, "", "", false, time.Time{}
	e.rec.Warning, e.rec.Renew, e.rec.Limited = r.warning, time.Time{}, session.Limit{}
	e.rec.Token, e.rec.Handle = cmp.Or(r.look.seen.InstanceToken, r.token), r.look.seen.Handle
	e.rec.Instance = session.PublicInstance(e.rec.Token)
	data := map[string]string{"instance": e.rec.Instance, "seconds": fmt.Sprintf("%.3f", l.now().Sub(r.began).Seconds())}
	if r.warning != "" {
		data["warning"] = r.warning
	}
	e.clearSenses()
	l.c.emit(event.SessionStarted, e, "the agent runs", data) // first: the look may find that it has ended already
	l.found(e, r.look)
	l.sense(e)
}

func (l *loop) startFailed(e *entry, r startResult) {
	e.stale = true
	switch {
	case errors.Is(r.err, runtime.ErrSessionExists):
		return // somebody else's start; the look leads to its adoption
	case errors.Is(r.err, runtime.ErrSessionInitializing):
		e.rec.NextAt = l.now().Add(l.c.opts.Jitter(time.Second))
		return
	case l.ending != nil || l.ctx.Err() != nil:
		return // it was cancelled
	}
	fault := faultOf(r.err)
	if death, ok := errors.AsType[*runtime.StartupDeath](r.err); ok {
		e.rec.Exit, e.rec.Screen = &death.Exit, death.Output
	} else if r.attempt.screen != "" {
		e.rec.Screen = r.attempt.screen
		fault += ", its screen says: " + lastWords(r.attempt.screen)
	}
	l.fail(e, fault)
	l.c.emit(event.SessionStartFailed, e, "the start failed: "+firstLine(e.rec.Fault), map[string]string{
		"error": e.rec.Fault, "class": classOf(r), "next": stamp(e.rec.NextAt),
	})
}

// The classes of failed starts.
const (
	classMissing = "missing binary"
	classExit    = "exit"
	classDialog  = "dialog"
	classTimeout = "timeout"
	classSetup   = "setup"
	classOther   = "other"
)

const notFoundCode = 127 // what a shell says of a command that it cannot find

// classOf says in one word what kept a start from its end.
func classOf(r startResult) string {
	if death, ok := errors.AsType[*runtime.StartupDeath](r.err); ok {
		if death.Exit.Code == notFoundCode {
			return classMissing
		}
		return classExit
	}
	if _, ok := errors.AsType[*launch.BlockedError](r.err); ok {
		return classDialog
	}
	if _, ok := errors.AsType[*launch.CommandError](r.err); ok {
		return classSetup
	}
	switch {
	case r.attempt.given, errors.Is(r.err, context.DeadlineExceeded):
		return classTimeout
	case errors.Is(r.err, exec.ErrNotFound), errors.Is(r.err, fs.ErrNotExist):
		return classMissing
	}
	return classOther
}

// faultOf says what went wrong, without the operation and the session, which
// stand beside it everywhere.
func faultOf(err error) string {
	if outer, ok := errors.AsType[*runtime.Error](err); ok {
		err = outer.Err
	}
	text := strings.TrimSpace(err.Error())
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		text = strings.TrimSuffix(text, ": "+end.Error())
	}
	return text
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
