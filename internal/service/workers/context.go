package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/service/workers/contextlog"
	"gascity/worker"
)

// Context implements workerapi.Orders. A section that this epoch has had with the same
// content is not sent again in mode full. A worker that takes context gets it by its stream, and any
// other agent as a prompt before all others.
func (e *Engine) Context(ctx context.Context, c worker.Context) (worker.ContextAnswer, error) {
	return e.send(ctx, c, contextlog.Record.Send)
}

// sendOwnSections gives the city's own sections: each once in an epoch, whatever its content.
func (e *Engine) sendOwnSections(ctx context.Context, c worker.Context) error {
	_, err := e.send(ctx, c, func(r contextlog.Record, instance string, c worker.Context, at time.Time, alive func(string) bool) (contextlog.Record, []contextlog.Order, map[string]string, error) {
		next, orders, err := r.AddCitySections(instance, c, at, alive)
		return next, orders, nil, err
	})
	return err
}

// sending is one of the ways to note sections as given: [contextlog.Record.Send], or Give.
type sending func(r contextlog.Record, instance string, c worker.Context, at time.Time, alive func(string) bool) (contextlog.Record, []contextlog.Order, map[string]string, error)

func (e *Engine) send(ctx context.Context, c worker.Context, how sending) (worker.ContextAnswer, error) {
	a, err := e.named(c.RunID)
	if err != nil {
		return worker.ContextAnswer{}, err
	}
	if err := contextlog.CheckContext(c); err != nil {
		return worker.ContextAnswer{}, err
	}
	v, err := e.opts.City.Snapshot(a.session)
	if err != nil {
		return worker.ContextAnswer{}, inWords(err)
	}
	orders, answer, err := a.newOrders(c, how)
	if err != nil || len(orders) == 0 {
		return answer, err
	}
	if err := a.remember(v.Provider); err != nil { // before a worker can get it, and a later controller give it again
		a.retract(orders)
		return worker.ContextAnswer{}, fmt.Errorf("%w: that the sections are given cannot be kept: %w", worker.ErrUnavailable, err)
	}
	for i, o := range orders {
		if answer.ID, err = e.sendSections(ctx, a, o); err != nil {
			a.retract(orders[i:])
			e.saveMemory(a)
			return worker.ContextAnswer{}, err
		}
	}
	return answer, nil
}

// sendSections gives sections by the stream, or as a prompt where no worker takes context.
func (e *Engine) sendSections(ctx context.Context, a *liveRun, o contextlog.Order) (id string, err error) {
	if a.offers(worker.OfferContext) {
		a.mu.Lock()
		defer a.mu.Unlock()
		_, err := a.putLocked(worker.ContextMessage, o.ID, o.Context)
		return o.ID, full(err)
	}
	id, err = e.asPrompt(ctx, a, o.Context)
	if err == nil {
		a.mu.Lock()
		a.contextLog = a.contextLog.Closed(o.ID)
		a.mu.Unlock()
		e.saveMemory(a)
	}
	return id, err
}

// newOrders records sections as given, with a nonce each, and leaves out those that need not be sent.
// Sections of a message that was lost go under its name again. Where nothing is sent, nothing is
// accepted.
func (a *liveRun) newOrders(c worker.Context, how sending) ([]contextlog.Order, worker.ContextAnswer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.RunID = a.id
	next, orders, skipped, err := how(a.contextLog, a.instance, c, a.engine.opts.Now(), func(id string) bool { return a.mailbox.Find(id) != nil })
	if err != nil {
		return nil, worker.ContextAnswer{}, err
	}
	a.contextLog = next
	answer := worker.ContextAnswer{Accepted: len(orders) > 0}
	for _, s := range c.Sections {
		if why := skipped[s.Type]; why != "" && !slices.Contains(answer.Skipped, s.Type) {
			answer.Skipped = append(answer.Skipped, s.Type)
		}
	}
	if len(skipped) > 0 {
		answer.SkippedReasons = skipped
	}
	return orders, answer, nil
}

// retract takes sections for not given.
func (a *liveRun) retract(orders []contextlog.Order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.contextLog = a.contextLog.Retract(a.instance, orders)
}

// compactedLocked begins a new epoch, in which every section is new again. A report
// of an earlier compaction changes nothing. It reports whether it did.
func (a *liveRun) compactedLocked(c contextlog.Compaction, now time.Time) bool {
	next, dropped, ok := a.contextLog.Compact(c, now)
	next.Pending = next.Pending || ok && a.engine.opts.Sections != nil
	a.briefedLocked(next, dropped)
	return ok
}

// briefedLocked takes a record over, and takes messages back that say nothing any more.
func (a *liveRun) briefedLocked(next contextlog.Record, dropped []string) {
	for _, id := range dropped {
		a.mailbox.Remove(id)
	}
	a.contextLog = next
}

// asPrompt gives context as a prompt; the same sections are one prompt.
func (e *Engine) asPrompt(ctx context.Context, a *liveRun, c worker.Context) (string, error) {
	if e.opts.Prompts == nil {
		return "", errNoPrompts
	}
	parts := make([]string, len(c.Sections))
	for i, s := range c.Sections {
		parts[i] = s.Content
	}
	r, err := e.opts.Prompts.Nudge(ctx, a.session, client.NudgeRequest{
		Text: strings.Join(parts, "\n\n"), Priority: string(worker.System), Source: "prime", Instance: session.PublicInstance(a.instance),
		Key: "context " + a.id + " " + c.Sections[0].Nonce,
	})
	if err != nil {
		return "", inWords(err)
	}
	return r.ID, nil
}

// verify looks whether sections that a worker was given have been seen in the
// conversation. What has not is given as a prompt, once.
func (e *Engine) verify(ctx context.Context, a *liveRun, id string) error {
	a.mu.Lock()
	_, open := a.contextLog.Open[id]
	l := a.mailbox.Find(id)
	if !open || !l.IsDone() {
		a.mu.Unlock()
		return nil
	}
	data, seen := l.Data, l.Nonces
	a.mu.Unlock()
	if len(data) == 0 {
		return e.verifyLost(ctx, a, id, seen)
	}
	var c worker.Context
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	c.Sections = slices.DeleteFunc(c.Sections, func(s worker.Section) bool { return slices.Contains(seen, s.Nonce) })
	if len(c.Sections) > 0 {
		if _, err := e.asPrompt(ctx, a, c); err != nil {
			return err // the worker repeats its word, and it is tried again
		}
	}
	a.mu.Lock()
	a.contextLog = a.contextLog.Closed(id)
	l.Data = nil
	a.mu.Unlock()
	e.saveMemory(a)
	return nil
}

// verifyLost is verify for a message of an earlier controller: what it said is not
// known any more, and what was not seen counts as not given.
func (e *Engine) verifyLost(ctx context.Context, a *liveRun, id string, seen []string) error {
	a.mu.Lock()
	a.contextLog = a.contextLog.Unseen(a.instance, id, seen)
	a.mu.Unlock()
	e.saveMemory(a)
	e.renew(ctx, a)
	return nil
}
