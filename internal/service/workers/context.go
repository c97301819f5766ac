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
	"gascity/worker"
)

// Context sends the context sections of c to the agent of a run: by the worker's stream if the
// worker accepts context, otherwise as a prompt before all other prompts. In mode full it leaves
// out a section that the agent already has with the same content. It implements workerapi.Orders.
func (e *Engine) Context(ctx context.Context, c worker.Context) (worker.ContextAnswer, error) {
	return e.send(ctx, c, contextLog.Send)
}

// sendOwnSections sends context sections that the city itself provides, such as the agent's role.
// Each type is sent once in an epoch of the conversation, even if its content changes. If the epoch
// has ended, for which c was made, nothing is sent: the sections of the next one are sent in another mode.
func (e *Engine) sendOwnSections(ctx context.Context, c worker.Context, epoch int) error {
	_, err := e.send(ctx, c, func(r contextLog, instance string, c worker.Context, at time.Time, alive func(string) bool) (contextLog, []contextMessage, map[string]string, error) {
		if r.Epoch != epoch {
			return r, nil, nil, nil
		}
		return r.AddCitySections(instance, c, at, alive)
	})
	return err
}

// addSectionsFunc records sections as sent: [contextLog.Send] or
// [contextLog.AddCitySections].
type addSectionsFunc func(r contextLog, instance string, c worker.Context, at time.Time, alive func(string) bool) (contextLog, []contextMessage, map[string]string, error)

// send sends context sections to the agent of a run. It records with add which ones are sent, saves
// that record, and sends the messages. If a message cannot be sent, its sections and those after it
// count as not sent.
func (e *Engine) send(ctx context.Context, c worker.Context, add addSectionsFunc) (worker.ContextAnswer, error) {
	a, err := e.runByID(c.RunID)
	if err != nil {
		return worker.ContextAnswer{}, err
	}
	if err := checkContext(c); err != nil {
		return worker.ContextAnswer{}, err
	}
	v, err := e.opts.City.Snapshot(a.session)
	if err != nil {
		return worker.ContextAnswer{}, workerError(err)
	}
	orders, answer, err := a.newOrders(c, add)
	if err != nil || len(orders) == 0 {
		return answer, err
	}
	if err := a.saveMemoryTo(v.Provider); err != nil { // save first, so that a later controller does not send the sections twice
		a.retract(orders)
		return worker.ContextAnswer{}, fmt.Errorf("%w: cannot save which sections are sent: %w", worker.ErrUnavailable, err)
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

// sendSections sends sections by the worker's stream, or as a prompt if no worker accepts context.
func (e *Engine) sendSections(ctx context.Context, a *liveRun, o contextMessage) (id string, err error) {
	if a.offers(worker.OfferContext) {
		a.mu.Lock()
		defer a.mu.Unlock()
		_, err := a.putLocked(worker.ContextMessage, o.ID, o.Context)
		return o.ID, mailboxError(err)
	}
	id, err = e.sendContextAsPrompt(ctx, a, o.Context)
	if err == nil {
		a.mu.Lock()
		a.contextLog = a.contextLog.Closed(o.ID)
		a.mu.Unlock()
		e.saveMemory(a)
	}
	return id, err
}

// newOrders records with add which sections are sent, and returns the messages to send. The answer
// lists the sections that are left out; its field Accepted is false if nothing is sent. Sections of
// a message that was lost with an earlier controller are sent again under that message's ID.
func (a *liveRun) newOrders(c worker.Context, add addSectionsFunc) ([]contextMessage, worker.ContextAnswer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.RunID = a.id
	next, orders, skipped, err := add(a.contextLog, a.instance, c, a.engine.opts.Now(), func(id string) bool { return a.mailbox.Find(id) != nil })
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

// retract records that the sections of these messages were not sent, so that they can be sent
// again.
func (a *liveRun) retract(orders []contextMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.contextLog = a.contextLog.Retract(a.instance, orders)
}

// compactedLocked handles a report that the agent's conversation was compacted. It starts a new
// epoch, in which every section is sent again, and returns true. For a compaction that is already
// known it does nothing and returns false.
func (a *liveRun) compactedLocked(c compactionReport, now time.Time) bool {
	next, dropped, ok := a.contextLog.Compact(c, now)
	next.Pending = next.Pending || ok
	a.replaceContextLogLocked(next, dropped)
	return ok
}

// replaceContextLogLocked replaces what is stored about the sections that were sent, and removes
// the messages with the IDs dropped, which belong to the conversation before a compaction.
func (a *liveRun) replaceContextLogLocked(next contextLog, dropped []string) {
	for _, id := range dropped {
		a.mailbox.Remove(id)
	}
	a.contextLog = next
}

// sendContextAsPrompt sends context sections as one prompt and returns the ID of its receipt. A
// second call with the same sections returns the same receipt.
func (e *Engine) sendContextAsPrompt(ctx context.Context, a *liveRun, c worker.Context) (string, error) {
	parts := make([]string, len(c.Sections))
	for i, s := range c.Sections {
		parts[i] = s.Content
	}
	r, err := e.opts.Prompts.Nudge(ctx, a.session, client.NudgeRequest{
		Text: strings.Join(parts, "\n\n"), Priority: string(worker.System), Source: "prime", Instance: session.PublicInstance(a.instance),
		Key: "context " + a.id + " " + c.Sections[0].Nonce,
	})
	if err != nil {
		return "", workerError(err)
	}
	return r.ID, nil
}

// resendUnseenSections handles the final acknowledgement of a message with context sections.
// Sections that were not seen in the conversation are sent once more, as a prompt.
func (e *Engine) resendUnseenSections(ctx context.Context, a *liveRun, id string) error {
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
		return e.renewLostSections(ctx, a, id, seen)
	}
	var c worker.Context
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	c.Sections = slices.DeleteFunc(c.Sections, func(s worker.Section) bool { return slices.Contains(seen, s.Nonce) })
	if len(c.Sections) > 0 {
		if _, err := e.sendContextAsPrompt(ctx, a, c); err != nil {
			return err // the worker repeats its report, which tries this again
		}
	}
	a.mu.Lock()
	a.contextLog = a.contextLog.Closed(id)
	l.Data = nil
	a.mu.Unlock()
	e.saveMemory(a)
	return nil
}

// renewLostSections handles the final acknowledgement of a message with sections that an earlier
// controller sent. seen lists the nonces that were found in the conversation. The sections without
// them count as not sent and are sent again.
func (e *Engine) renewLostSections(ctx context.Context, a *liveRun, id string, seen []string) error {
	a.mu.Lock()
	a.contextLog = a.contextLog.Unseen(a.instance, id, seen)
	a.mu.Unlock()
	e.saveMemory(a)
	e.renew(ctx, a)
	return nil
}
