package budgets

import (
	"context"
	"errors"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/internal/service/engine"
)

// account identifies one session, agent or the city (who) within a budget.
type account struct{ budget, who string }

// overrun is the time during which a budget is used up.
type overrun struct {
	use         usage.Use
	interrupted map[string]bool // instances that were interrupted, by public name
}

// actTime is the time limit of one action on a session.
const actTime = 30 * time.Second

// acts is how many actions run at the same time.
const acts = 8

// act stops or interrupts sessions as the used-up budgets require, and ends a stop when its budget
// allows the session again. It returns false if an action failed and must be tried again.
func (r *runner) act(ctx context.Context, views []session.Snapshot) bool {
	r.mu.Lock()
	uses := r.uses
	r.mu.Unlock()
	r.updateOverruns(ctx, uses)
	var jobs errgroup.Group
	jobs.SetLimit(acts)
	for i := range views {
		do := r.actionFor(&views[i], uses)
		if do == nil {
			continue
		}
		jobs.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, actTime)
			defer cancel()
			err := do(ctx)
			if err != nil {
				r.opts.Logger.Warn("cannot enforce a budget", "session", views[i].Session, "error", err)
			}
			return err
		})
	}
	return jobs.Wait() == nil
}

// updateOverruns records which budgets are used up now, and emits an event for each change.
func (r *runner) updateOverruns(ctx context.Context, uses []usage.Use) {
	over := map[account]bool{}
	for _, u := range uses {
		key := account{u.Budget.Name, u.Who}
		if !u.Over {
			continue
		}
		over[key] = true
		if ep := r.overruns[key]; ep != nil {
			ep.use = u
			continue
		}
		r.overruns[key] = &overrun{use: u, interrupted: map[string]bool{}}
		r.mu.Lock()
		r.tripped[u.Budget.Name]++
		r.mu.Unlock()
		r.record(ctx, event.BudgetExceeded, u, "the budget is used up: "+u.Text(), exceeded(u))
	}
	for key, ep := range r.overruns {
		if !over[key] {
			delete(r.overruns, key)
			r.record(ctx, event.BudgetReleased, ep.use, "the budget "+key.budget+" is not used up any more", nil)
		}
	}
}

// exceeded returns the data of the event that a budget is used up.
func exceeded(u usage.Use) map[string]string {
	data := map[string]string{
		"act": string(u.Budget.Act), "measure": string(u.Budget.Measure), "unknown": u.Unknown,
		"used": number(u.Used), "limit": number(u.Budget.Limit),
	}
	if !u.Until.IsZero() {
		data["until"] = u.Until.UTC().Format(time.RFC3339)
	}
	return data
}

// number formats a number without an exponent.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// record appends an event about a budget and logs it.
func (e *Engine) record(ctx context.Context, kind event.Kind, u usage.Use, text string, data map[string]string) {
	ev := client.Event{Kind: string(kind), Text: text, Data: map[string]string{"budget": u.Budget.Name}}
	for key, value := range data {
		if value != "" {
			ev.Data[key] = value
		}
	}
	if u.Who != "" {
		ev.Data["who"] = u.Who
	}
	switch u.Budget.Scope {
	case usage.ScopeSession:
		ev.Session = u.Who
	case usage.ScopeAgent:
		ev.Agent = u.Who
	case usage.ScopeCity:
	}
	engine.Record(ctx, e.opts.Events, e.opts.Logger, ev, "budget", u.Budget.Name)
	e.opts.Logger.Info(text, "budget", u.Budget.Name, "who", u.Who)
}

// actionFor returns the function that stops, interrupts or releases a session as its budgets
// require; nil if there is nothing to do.
func (r *runner) actionFor(v *session.Snapshot, uses []usage.Use) func(context.Context) error {
	act, use := usage.Worst(uses, v.Session, v.Agent)
	held := v.Hold.Kind == session.HoldBudget
	switch {
	case act == usage.ActStop && (held || v.Hold.Kind == session.HoldSuspend):
		return nil // it does not run, or it is being stopped
	case act == usage.ActStop && (v.Unknown != "" || !v.Running && v.Desired != client.DesiredRunning):
		return nil
	case act == usage.ActStop:
		return r.stop(*v, use)
	case held:
		return func(ctx context.Context) error {
			return r.opts.City.Allow(ctx, v.Session, "its budget allows it again")
		}
	case act == usage.ActInterrupt && v.Unknown == "" && working(v):
		return r.interrupt(*v, use)
	}
	return nil
}

// stop returns a function that stops the session and keeps it stopped until the budget allows it
// again. If the stop cannot be saved, the function interrupts the agent's turn instead.
func (r *runner) stop(v session.Snapshot, use usage.Use) func(context.Context) error {
	return func(ctx context.Context) error {
		err := r.opts.City.Withhold(ctx, v.Session, r.holdReason(use), use.Until)
		if err != nil && working(&v) {
			if interrupt := r.interrupt(v, use); interrupt != nil {
				return errors.Join(err, interrupt(ctx))
			}
		}
		return err
	}
}

// interrupt returns a function that interrupts the turn of the session's instance; nil if it was
// already interrupted since the budget was used up.
func (r *runner) interrupt(v session.Snapshot, use usage.Use) func(context.Context) error {
	ep := r.overruns[account{use.Budget.Name, use.Who}]
	r.mu.Lock()
	done := ep == nil || ep.interrupted[v.Instance]
	r.mu.Unlock()
	if done {
		return nil
	}
	return func(ctx context.Context) error {
		_, err := r.opts.City.Interrupt(ctx, v.Session, client.LifecycleRequest{Instance: v.Instance, Reason: use.Text()})
		if err == nil {
			r.mu.Lock()
			ep.interrupted[v.Instance] = true
			r.mu.Unlock()
		}
		return err
	}
}
