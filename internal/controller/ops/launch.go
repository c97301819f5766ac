package ops

import (
	"context"
	"errors"

	"gascity/internal/driver/startup"
	"gascity/internal/proc"
	"gascity/runtime"
)

// Started is how a start went.
type Started struct {
	Err         error
	MetadataErr error  // the session does not say what it was started with
	Warning     string // what the start left open
	Finding     Finding
	Missing     error // the program is not there, which explains Err; nil: that is not known
	// Unseen says that the program was not found before a start without an error: if its
	// process exits at once because there is none, this explains it. Nil: it was found.
	Unseen error
}

// Start starts a session and returns its result.
func (a *Attempt) Start(ctx context.Context, p runtime.Provider, l *Launch) (r Started) {
	name := l.Session.Name
	cfg, err := l.incarnate(ctx)
	if err == nil {
		err = a.Run(ctx, p, name, cfg)
	}
	if r.Err = err; err != nil {
		r.Missing = l.explain(err)
		return r
	}
	r.MetadataErr = l.metadata().Write(p, name)
	r.Warning = ReadMeta(p, name, startup.MetaWarning)
	r.Finding, r.Unseen = Observe(ctx, p, name), l.Missing
	return r
}

// Changed is how a change of a running session went. An error of one that was
// applied is a warning.
type Changed struct {
	Applied bool
	Err     error
	Finding Finding
	Renewed bool  // the instance that was to begin is there, however the change went
	Missing error // as of [Started]
}

// Change relaunches an agent, or only runs its live commands again, and notes what
// the session runs with then.
func (a *Launch) Change(ctx context.Context, p runtime.Provider) (r Changed) {
	name := a.Session.Name
	if a.LiveOnly {
		r.Err = p.RunLive(name, a.Config)
	} else {
		r.Err = a.relaunch(ctx, p)
		r.Missing = a.explain(r.Err)
	}
	r.Finding = Observe(ctx, p, name)
	r.Renewed = !a.LiveOnly && r.Finding.Err == nil && a.Token != "" && r.Finding.Seen.InstanceToken == a.Token
	if r.Applied = r.Err == nil || a.LiveOnly && !runtime.IsSessionGone(r.Err); r.Applied {
		notes := a.metadata()
		if !a.LiveOnly && !r.Renewed {
			notes.Started = "" // the driver has given it no name of its own
		}
		r.Err = errors.Join(r.Err, notes.Write(p, name))
	}
	return r
}

func (a *Launch) relaunch(ctx context.Context, p runtime.Provider) error {
	cfg, err := a.incarnate(ctx)
	if err != nil {
		return err
	}
	return runtime.Relaunch(ctx, p, a.Session.Name, cfg)
}

// Ended is how a stop went.
type Ended struct {
	Processes int
	Uncounted bool // the place does not report processes
	Survivors []int
	Err       error
	Finding   Finding
}

// Uncounted reports whether a place did not say which processes a session has.
func Uncounted(seen *runtime.Observation) bool { return seen.PID <= 0 }

// StopTarget is the instance that is to end.
type StopTarget struct {
	Name, Token string
	Seen        runtime.Observation
	Tree        []proc.Info // its processes as they were counted before; nil: those that it has now
}

// End ends an instance and counts what is left of it.
func (v *StopTarget) End(ctx context.Context, p runtime.Provider) (r Ended) {
	if v.Tree == nil {
		v.Tree = Tree(&v.Seen)
	}
	r.Processes, r.Uncounted = len(v.Tree), Uncounted(&v.Seen)
	r.Err = Stop(ctx, p, v.Name, v.Token)
	r.Survivors = Survivors(v.Tree)
	r.Finding = Observe(ctx, p, v.Name)
	return r
}
