package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"gascity/internal/event"
	"gascity/internal/plan"
	"gascity/internal/session"
	"gascity/runtime"
)

// begin gives an entry a job. work runs outside the loop; what it returns runs
// in the loop when the job is over.
func (l *loop) begin(e *entry, kind jobKind, verb plan.Verb, limit time.Duration, work func(ctx context.Context) func()) {
	e.job = &job{kind: kind, verb: verb, overdue: l.now().Add(limit + overdueAfter)}
	e.job.cancel = l.spawn(limit, func(ctx context.Context) func() {
		fold := work(ctx)
		return func() {
			e.job = nil
			fold()
		}
	})
	l.wakeAt(e.job.overdue)
	l.viewStale = true
}

// start begins a start. It is only called for a session whose former
// incarnation is known to be over.
func (l *loop) start(e *entry, s *plan.Session) {
	p, began, token := e.place.provider, l.now(), l.c.opts.NewToken()
	e.order = plan.OrderNone
	reason := e.action.Reason
	l.c.emit(event.SessionStarting, e, "a start began", map[string]string{"reason": reason})
	limit := s.StartTimeout
	if limit <= 0 {
		limit = startLimit
	}
	root := l.c.opts.Root
	l.begin(e, jobStart, plan.VerbStart, limit, func(ctx context.Context) func() {
		cfg, err := l.incarnate(ctx, s, token)
		if err == nil {
			err = p.Start(ctx, s.Name, cfg)
		}
		var f finding
		var noteErr error
		if err == nil {
			noteErr = writeNotes(p, s.Name, notes{root, s.Agent, fingerprints(s)})
			f = observe(ctx, p, s.Name)
		}
		return func() { l.started(e, s, startResult{began, token, err, noteErr, f}) }
	})
}

// incarnate returns the session's configuration with the environment of one
// incarnation.
func (l *loop) incarnate(ctx context.Context, s *plan.Session, token string) (runtime.Config, error) {
	cfg := s.Config
	env := maps.Clone(cfg.Env)
	if env == nil {
		env = map[string]string{}
	}
	for name, secret := range s.UpstreamEnv {
		value, err := secret.Resolve(ctx, l.c.opts.Secrets)
		if err != nil {
			return cfg, err
		}
		env[name] = value
	}
	if token != "" {
		env["GC_INSTANCE_TOKEN"] = token
	}
	cfg.Env = env
	return cfg, nil
}

// startResult is how a start went.
type startResult struct {
	began   time.Time
	token   string
	err     error
	noteErr error
	look    finding
}

func (l *loop) started(e *entry, s *plan.Session, r startResult) {
	e.saved = false
	switch {
	case errors.Is(r.err, runtime.ErrSessionExists):
		e.stale = true // somebody else's start; the look leads to its adoption
		return
	case errors.Is(r.err, runtime.ErrSessionInitializing):
		e.stale = true
		e.rec.NextAt = l.now().Add(l.c.opts.Jitter(time.Second))
		return
	case r.err != nil && (l.ending != nil || l.ctx.Err() != nil):
		e.stale = true // it was cancelled
		return
	case r.err != nil:
		l.fail(e, faultOf(r.err))
		e.stale = true
		if death, ok := errors.AsType[*runtime.StartupDeath](r.err); ok {
			e.rec.Exit, e.rec.Screen = &death.Exit, death.Output
		}
		l.c.emit(event.SessionStartFailed, e, "the start failed: "+firstLine(e.rec.Fault),
			map[string]string{"error": e.rec.Fault, "next": stamp(e.rec.NextAt)})
		return
	}
	if r.noteErr != nil {
		l.c.opts.Logger.Warn("a later controller will not know what the session was started with", "session", s.Name, "error", r.noteErr)
	}
	if !e.rec.StartedAt.IsZero() {
		e.rec.Restarts++
	}
	e.known, e.owner, e.tries, e.stopAt, e.stopFault = true, plan.OwnerUs, 0, time.Time{}, ""
	e.rec.Stored, e.rec.StartedAt, e.rec.Running = fingerprints(s), r.began, true
	e.rec.Exit, e.rec.Screen, e.rec.Fault, e.rec.Lost, e.rec.NextAt = nil, "", "", false, time.Time{}
	e.rec.Token, e.rec.Handle = cmp.Or(r.look.seen.InstanceToken, r.token), r.look.seen.Handle
	e.rec.Agent = s.Agent
	l.c.emit(event.SessionStarted, e, "the agent runs", // first: the look may find that it has ended already
		map[string]string{"instance": session.PublicInstance(e.rec.Token), "seconds": fmt.Sprintf("%.3f", l.now().Sub(r.began).Seconds())})
	l.found(e, r.look)
}

// faultOf says what went wrong, without the operation and the session, which
// stand beside it everywhere.
func faultOf(err error) string {
	if outer, ok := errors.AsType[*runtime.Error](err); ok {
		err = outer.Err
	}
	return strings.TrimSuffix(strings.TrimSpace(err.Error()), ": "+context.DeadlineExceeded.Error())
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// change relaunches an agent in its warm box, or runs its live commands again.
func (l *loop) change(e *entry, s *plan.Session, a plan.Action) {
	p, root := e.place.provider, l.c.opts.Root
	limit := liveLimit
	if a.Verb == plan.VerbRelaunch {
		limit = max(s.StartTimeout, startLimit)
	}
	l.begin(e, jobChange, a.Verb, limit, func(ctx context.Context) func() {
		var err error
		if a.Verb == plan.VerbRelaunch {
			var cfg runtime.Config
			if cfg, err = l.incarnate(ctx, s, ""); err == nil {
				err = runtime.Relaunch(ctx, p, s.Name, cfg)
			}
		} else {
			err = p.RunLive(s.Name, s.Config)
		}
		applied := err == nil || a.Verb == plan.VerbApplyLive && !runtime.IsSessionGone(err)
		if applied {
			err = errors.Join(err, writeNotes(p, s.Name, notes{root, s.Agent, fingerprints(s)}))
		}
		f := observe(ctx, p, s.Name)
		return func() { l.changed(e, s, a, changeResult{applied, err, f}) }
	})
}

type changeResult struct {
	applied bool
	err     error
	look    finding
}

func (l *loop) changed(e *entry, s *plan.Session, a plan.Action, r changeResult) {
	if a.Verb == plan.VerbRelaunch && (errors.Is(r.err, runtime.ErrRelaunchUnsupported) || errors.Is(r.err, errors.ErrUnsupported)) {
		e.place.cold = true // the next decision is a restart
		return
	}
	if !r.applied {
		e.stopFault = faultOf(r.err)
		e.stopAt = l.now().Add(l.c.opts.Jitter(pauseAfter(1)))
		e.stale, e.lookAt = true, e.stopAt
		l.c.opts.Logger.Warn("cannot apply a changed configuration", "session", s.Name, "verb", a.Verb, "error", r.err)
		return
	}
	if r.err != nil {
		l.c.opts.Logger.Warn("live commands failed", "session", s.Name, "error", r.err)
	}
	e.rec.Stored, e.saved = fingerprints(s), false
	kind, text := event.SessionLiveApplied, "live commands were run again"
	if a.Verb == plan.VerbRelaunch {
		kind, text = event.SessionRelaunched, "the agent was started again in its place"
		e.rec.Token, e.rec.Handle = r.look.seen.InstanceToken, r.look.seen.Handle
		e.activity, e.source = "", ""
	}
	l.c.emit(kind, e, text, map[string]string{"fields": strings.Join(a.Fields, ",")})
	l.found(e, r.look)
}

// adopt takes over a session that runs already.
func (l *loop) adopt(e *entry, s *plan.Session) {
	p, handle, root := e.place.provider, e.seen.Handle, l.c.opts.Root
	unclaimed := e.owner == plan.OwnerUnknown
	current := e.rec.Stored
	l.begin(e, jobAdopt, plan.VerbAdopt, lookLimit, func(ctx context.Context) func() {
		err := runtime.Recover(ctx, p, s.Name, handle)
		if err == nil && unclaimed {
			err = writeNotes(p, s.Name, notes{root, s.Agent, current})
		}
		return func() {
			if err != nil {
				l.found(e, finding{err: fmt.Errorf("it cannot be adopted: %w", err)})
				return
			}
			e.known, e.owner, e.saved = true, plan.OwnerUs, false
			e.rec.Running, e.rec.Exit = true, nil
			l.c.emit(event.SessionAdopted, e, "a session that ran already was taken over",
				map[string]string{"instance": session.PublicInstance(e.rec.Token)})
		}
	})
}

// rebaseline stores the present fingerprints: what was stored is by other rules.
func (l *loop) rebaseline(e *entry) {
	s := l.desired[e.rec.Key()]
	if s == nil || e.place.provider == nil {
		return
	}
	p, n := e.place.provider, notes{l.c.opts.Root, s.Agent, fingerprints(s)}
	e.rec.Stored, e.saved = n.stored, false
	l.begin(e, jobAdopt, "", lookLimit, func(context.Context) func() {
		err := writeNotes(p, s.Name, n)
		return func() {
			if err != nil {
				l.c.opts.Logger.Warn("cannot note the present fingerprints", "session", s.Name, "error", err)
			}
		}
	})
}
