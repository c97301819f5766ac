package ops

import (
	"context"
	"errors"
	"time"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/runtime"
)

// Started is the result of a start.
type Started struct {
	Err         error
	MetadataErr error  // the session's metadata was not written
	Warning     string // start steps that did not finish
	Finding     Finding
	Missing     error // the look-up error that explains Err; nil: none
	// Unseen is the look-up error of a program whose start succeeded. It explains an immediate
	// exit. Nil: the program was found.
	Unseen error
}

// Start starts a session and returns its result.
func (a *Attempt) Start(ctx context.Context, p runtime.Provider, l *Launch) (r Started) {
	name := l.Session.Name
	cfg, err := l.instanceConfig(ctx)
	if err == nil {
		err = a.Run(ctx, p, name, cfg)
	}
	if r.Err = err; err != nil {
		r.Missing = l.explain(err)
		return r
	}
	r.MetadataErr = l.metadata().Write(p, name)
	r.Warning = ReadMeta(p, name, driver.MetaWarning)
	r.Finding, r.Unseen = Observe(ctx, p, name), l.Missing
	if r.Unseen != nil {
		r.Finding = awaitExit(ctx, p, name, r.Finding)
	}
	return r
}

// missingGrace is how long a start waits for the exit of an agent whose program was not found: the
// shell that cannot run it exits at once, but the start may be complete before that.
const missingGrace = 2 * time.Second

// awaitExit observes the agent until it has exited, for at most [missingGrace]. It returns the last
// observation that succeeded.
func awaitExit(ctx context.Context, p runtime.Provider, name string, f Finding) Finding {
	ctx, cancel := context.WithTimeout(ctx, missingGrace)
	defer cancel()
	for delay := retry.New(20*time.Millisecond, 200*time.Millisecond); f.Err == nil && f.Seen.Agent == runtime.Alive && delay.Wait(ctx); {
		if now := Observe(ctx, p, name); now.Err == nil {
			f = now
		}
	}
	return f
}

// Changed is the result of a change of a running session. If Applied is true, Err is only a
// warning.
type Changed struct {
	Applied bool
	Err     error
	Finding Finding
	Renewed bool  // the new instance exists, even if the change failed
	Missing error // as in [Started]
}

// Change relaunches an agent, or with a.LiveOnly only runs its live commands again. Then it
// observes the session and, if the change was applied, writes the session's metadata.
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
			notes.Started = "" // the driver did not set a new instance token
		}
		r.Err = errors.Join(r.Err, notes.Write(p, name))
	}
	return r
}

// relaunch relaunches the agent with the configuration of the new instance.
func (a *Launch) relaunch(ctx context.Context, p runtime.Provider) error {
	cfg, err := a.instanceConfig(ctx)
	if err != nil {
		return err
	}
	return runtime.Relaunch(ctx, p, a.Session.Name, cfg)
}

// Ended is the result of a stop.
type Ended struct {
	Processes int
	Uncounted bool // the provider does not report processes
	Survivors []int
	Err       error
	Screen    string // what the terminal showed before the stop; empty: not known
	Finding   Finding
}

// Uncounted reports whether the number of the session's processes is unknown because the provider
// reports no process ID.
func Uncounted(seen *runtime.Observation) bool { return seen.PID <= 0 }

// stopPeekLimit is how long a stop waits for the last screen.
const stopPeekLimit = 500 * time.Millisecond

// StopTarget is the instance to stop.
type StopTarget struct {
	Name, Token string
	Seen        runtime.Observation
	Tree        []proc.Info // its processes before the interrupt; nil: read them now
}

// End stops the instance and returns the result, with the processes that survived and the screen
// before the stop.
func (v *StopTarget) End(ctx context.Context, p runtime.Provider) (r Ended) {
	if v.Tree == nil {
		v.Tree = Tree(&v.Seen)
	}
	r.Processes, r.Uncounted = len(v.Tree), Uncounted(&v.Seen)
	if v.Seen.Agent != runtime.Dead {
		r.Screen = peekWithin(p, v.Name, stopPeekLimit)
	}
	r.Err = Stop(ctx, p, v.Name, v.Token)
	r.Survivors = Survivors(v.Tree)
	r.Finding = Observe(ctx, p, v.Name)
	return r
}
