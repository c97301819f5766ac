package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// Kill stops an instance and returns the result. gc starts the agent again unless the configuration
// or a hold prevents it. While the store fails, gc could not start the agent again; Kill then stops
// it only if req.Force is set.
func (c *Controller) Kill(ctx context.Context, name string, req client.LifecycleRequest) (client.StopResult, error) {
	return ask(ctx, c, func(l *loop, answer func(client.StopResult, error)) {
		e, err := l.find(name)
		if err == nil {
			err = checkInstance(&e.rec, name, req.Instance)
		}
		switch {
		case err != nil:
			answer(client.StopResult{}, err)
			return
		case l.frozen != "" && !req.Force:
			answer(client.StopResult{}, fmt.Errorf("%w: nothing was stopped, because gc would not be able to start %s again: %s; to stop it anyway: gc session kill %s --force", client.ErrUnavailable, name, l.frozen, name))
			return
		case e.unknown():
			answer(client.StopResult{}, fmt.Errorf("%w: the state of %s is not known: %s", client.ErrRefused, name, e.action.Reason))
			return
		case !e.running() && (e.job == nil || e.job.kind == jobObserve):
			answer(client.StopResult{}, fmt.Errorf("%w: %s does not run: %s", client.ErrRefused, name, e.action.Reason))
			return
		}
		stops := e.stops
		e.order = plan.OrderKill
		l.dirty = true
		l.waiters = append(l.waiters, func() bool {
			switch {
			case e.stops > stops:
				answer(e.last, nil)
			case e.job == nil && e.order == plan.OrderNone, e.job == nil && !e.stale && !e.running() && !e.unknown():
				// it stopped without gc
				e.order = plan.OrderNone
				answer(client.StopResult{Session: e.rec.Session, Agent: e.rec.Agent}, nil)
			default:
				return false
			}
			return true
		})
	})
}

// find returns the entry with the given agent name or session name. If an agent has more than one entry because it moved to
// another provider, find returns the one that is to run. Sessions of other cities are not found.
func (l *loop) find(name string) (*entry, error) {
	var found *entry
	for _, e := range l.entries {
		if e.rec.Session != name && e.rec.Agent != name || e.owner == plan.OwnerOther {
			continue
		}
		if found == nil || e.action.MovePending || l.desired[e.rec.Key()] != nil && !found.action.MovePending {
			found = e
		}
	}
	if found == nil {
		return nil, newNotFoundError(name, l.loaded.Desired.Pools)
	}
	return found, nil
}

// Restart stops the targets and starts them again. It starts a target that is not running, whatever
// failures it had before. It returns after the previous instances have stopped and the new starts
// have begun.
func (c *Controller) Restart(ctx context.Context, req client.RestartRequest) (client.Done, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Done, error)) {
		entries, err := l.restartable(req.Targets)
		if req.NotRunning {
			entries = slices.DeleteFunc(entries, func(e *entry) bool { return e.running() || e.starting() })
		}
		for _, e := range entries {
			err = cmp.Or(err, checkInstance(&e.rec, e.rec.Session, req.Instance))
		}
		if err != nil || len(entries) == 0 {
			answer(client.Done{Detail: "there is nothing to restart"}, err)
			return
		}
		stops := map[*entry]int{}
		for _, e := range entries {
			e.rec.ResetFailures()
			e.rec.Drain = session.Drain{}
			e.touch()
			e.order, e.stopAt = plan.OrderRestart, l.now()
			stops[e] = e.stops
		}
		l.dirty = true
		l.waiters = append(l.waiters, func() bool {
			failed, open := l.restarted(stops)
			switch {
			case open:
				return false
			case len(failed) > 0:
				answer(client.Done{}, errors.New("cannot restart "+strings.Join(failed, "; ")))
			default:
				done := client.Done{Changed: true, Detail: fmt.Sprintf("%d restarted", len(entries))}
				if len(entries) == 1 {
					done.Session = entries[0].rec.Session
				}
				answer(done, nil)
			}
			return true
		})
	})
}

// restarted returns which of the requested restarts failed, each as "AGENT: reason", and whether any has not finished yet. stops
// maps each entry to the number of stops that it had before the request: a higher number now means that it was stopped.
func (l *loop) restarted(stops map[*entry]int) (failed []string, open bool) {
	for e, before := range stops {
		switch {
		case e.stops > before && e.last.Error != "":
			e.order = plan.OrderNone
			failed = append(failed, fmt.Sprintf("%s: %s", e.rec.Agent, e.last.Error))
		case l.ending != nil:
			failed = append(failed, e.rec.Agent+": the city is being stopped")
		case e.order == plan.OrderRestart && e.job == nil && e.action.Desired != client.DesiredRunning,
			e.order == plan.OrderNone && e.rec.Hold.Kind != "": // a later request was applied first
			e.order = plan.OrderNone
			failed = append(failed, fmt.Sprintf("%s: %s", e.rec.Agent, e.action.Reason))
		case e.order == plan.OrderRestart && e.action.Verb != plan.VerbWait:
			open = true
		}
	}
	slices.Sort(failed)
	return failed, open
}

// restartable returns the entries of the named agents or sessions, for a restart; without names, all that are neither suspended
// nor held. It returns an error if one of the named cannot be restarted, and then nothing is restarted.
func (l *loop) restartable(names []string) ([]*entry, error) {
	all := len(names) == 0
	if l.ending != nil {
		return nil, fmt.Errorf("%w: the city is being stopped", client.ErrRefused)
	}
	if l.frozen != "" {
		return nil, l.notSavedError()
	}
	var entries []*entry
	if all {
		for _, s := range l.loaded.Desired.Sessions {
			e := l.entries[s.Key()]
			if !s.Suspended && (e == nil || e.rec.Hold.Kind == "") {
				names = append(names, s.Name)
			}
		}
	}
	for _, name := range names {
		e, err := l.find(name)
		if err != nil {
			return nil, err
		}
		s := l.configured(e)
		away := e.action.MovePending && s != nil && l.closed()[s.Provider] != ""
		switch {
		case away && all:
			continue
		case away:
			return nil, fmt.Errorf("%w: %s was not stopped, because gc could not start it again: %s", client.ErrRefused, name, e.action.Reason)
		case s == nil:
			return nil, fmt.Errorf("%w: %s is not configured any more", client.ErrRefused, name)
		case s.Suspended:
			return nil, fmt.Errorf("%w: %s is suspended in city.toml; set suspended = false there", client.ErrRefused, name)
		case e.rec.Hold.Kind == session.HoldSuspend:
			return nil, fmt.Errorf("%w: %s is suspended; start it with: gc start %s", client.ErrRefused, name, name)
		case e.rec.Hold.Kind == session.HoldBudget:
			return nil, fmt.Errorf("%w: %s has used up its budget (%s)", client.ErrRefused, name, e.rec.Hold.Reason)
		case e.unknown():
			return nil, fmt.Errorf("%w: the state of %s is not known: %s", client.ErrRefused, name, e.action.Reason)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Reload reads the configuration again. An invalid configuration is an error and changes nothing.
func (c *Controller) Reload(ctx context.Context) (client.Done, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Done, error)) {
		l.reloads = append(l.reloads, answer)
		if !l.loading {
			l.reload()
		}
	})
}

// reload begins to load the configuration. It answers all requests that were made before it began, after the next pass: then the
// status already shows the effects.
func (l *loop) reload() {
	l.loading = true
	waiting := l.reloads
	l.reloads = nil
	l.spawn(openLimit, func(ctx context.Context) func() {
		loaded, err := l.c.opts.Load(ctx)
		return func() {
			l.loading = false
			done, err := l.reloaded(loaded, err)
			for _, answer := range waiting {
				l.waiters = append(l.waiters, func() bool { answer(done, err); return true }) // after the next pass
			}
			if len(l.reloads) > 0 {
				l.reload()
			}
		}
	})
}

// reloaded applies the result of a load, or reports why the previous configuration stays active.
func (l *loop) reloaded(loaded Loaded, err error) (client.Done, error) {
	if city := l.loaded.Desired.City; err == nil && loaded.Desired.City != city {
		err = fmt.Errorf("the city's name changed from %q to %q; stop the city first: its sessions carry the name", city, loaded.Desired.City)
	}
	if err != nil {
		l.loadError = err.Error()
		l.emit(event.ControllerReloadFailed, nil, "the configuration is invalid; the previous one stays active", map[string]string{"error": err.Error()})
		return client.Done{}, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	changed := !reflect.DeepEqual(l.loaded.Config, loaded.Config) || !reflect.DeepEqual(l.loaded.Desired, loaded.Desired)
	l.applyConfig(loaded)
	for _, warning := range loaded.Warnings {
		l.c.opts.Logger.Warn(warning)
	}
	l.emit(event.ControllerReloaded, nil, "the configuration was read again", nil)
	return client.Done{Changed: changed}, nil
}

// StopCity stops every session and then the controller, and returns what was stopped and what survived. A call during the stop
// waits for the same result. If an earlier stop left something running, a call tries once more.
func (c *Controller) StopCity(ctx context.Context) (client.Census, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Census, error)) {
		if l.ending == nil || l.ending.stuck && !l.ending.closing {
			l.beginCityStop()
		}
		l.ending.waiting = append(l.ending.waiting, answer)
		l.dirty = true
	})
}

// StopController lets the controller exit and leaves the sessions running.
func (c *Controller) StopController(ctx context.Context) (client.Done, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Done, error)) {
		l.emit(event.ControllerStopping, nil, "the controller received a request to stop", map[string]string{"scope": "controller"})
		l.exiting = true
		answer(client.Done{Changed: true, Detail: fmt.Sprintf("%d sessions keep running", l.countRunning())}, nil)
	})
}

// countRunning returns the number of sessions whose agent runs.
func (l *loop) countRunning() int {
	n := 0
	for _, e := range l.entries {
		if e.running() {
			n++
		}
	}
	return n
}
