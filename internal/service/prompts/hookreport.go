package prompts

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/overlay"
	"gascity/worker"
)

// RecordHookReport takes what the hooks of an agent CLI say of the prompts that reach it, however
// they did: that one has begun a turn, or that the turn is over. A receipt whose prompt
// it is goes on by that. What is said of a prompt that a person typed, of another
// instance or of a time before the prompt was handed over changes nothing. It is kept
// when it returns nil.
func (e *Engine) RecordHookReport(ctx context.Context, w prompt.HookReport) error {
	if err := e.ready(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	if w.Hash != "" {
		e.hookReporters[w.Session] = hookReporter{w.Instance, e.opts.Now()}
	} else if e.hookReporters[w.Session].instance == w.Instance {
		e.hookReporters[w.Session] = hookReporter{instance: w.Instance}
	}
	b := e.queues[w.Session]
	e.mu.Unlock()
	if b == nil {
		return nil
	}
	var failed []error
	if w.Hash == "" {
		for _, r := range e.open(b) {
			failed = append(failed, e.turnEnded(ctx, b, r.ID, w))
		}
	} else if id := e.findTurnReceipt(b, w); id != "" {
		failed = append(failed, e.begun(ctx, b, id, w))
	} else {
		b.wakeOwner() // the prompt of its command line, or a person's: what waits for that goes on
	}
	return errors.Join(failed...)
}

// findTurnReceipt finds the receipt whose prompt has begun a turn: the first delivered one
// without a reported turn.
func (e *Engine) findTurnReceipt(b *sessionQueue, w prompt.HookReport) (id string) {
	e.mu.Lock()
	open := b.listLocked()
	e.mu.Unlock()
	var first *prompt.Receipt
	for _, r := range open {
		if !r.MatchesTurnStart(w) || e.nameOf(b, r) != w.Hash || !e.reportedAt(b, r).IsZero() {
			continue
		}
		if first == nil || r.Seq < first.Seq {
			first = r
		}
	}
	if first == nil {
		return ""
	}
	return first.ID
}

// nameOf names the prompt of a receipt, as a hook does. The text of a submitted one is
// not kept, its name is.
func (e *Engine) nameOf(b *sessionQueue, r *prompt.Receipt) string {
	e.mu.Lock()
	name := b.names[r.ID]
	e.mu.Unlock()
	if name != "" || r.State != prompt.Injected {
		return name
	}
	if r.ByFile != "" {
		return worker.PromptHash(prompt.FileLine(r.ByFile))
	}
	m, err := overlay.MessageOf(r.Content)
	if err != nil {
		return ""
	}
	return worker.PromptHash(m.Text)
}

// reportedAt returns when the agent's hook said that the prompt began a turn; zero: it has not.
func (e *Engine) reportedAt(b *sessionQueue, r *prompt.Receipt) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at, ok := b.reported[r.ID]; ok {
		return at
	}
	if r.State == prompt.Submitted && strings.Contains(r.Evidence, prompt.SignHook) {
		return r.UpdatedAt
	}
	return time.Time{}
}

// begun records that a prompt has begun a turn. The end of its attempt takes that over.
func (e *Engine) begun(ctx context.Context, b *sessionQueue, id string, w prompt.HookReport) error {
	_, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if !r.MatchesTurnStart(w) {
			return r, errEnded
		}
		e.mu.Lock()
		b.reported[id] = w.At
		e.mu.Unlock()
		if r.State == prompt.Submitted {
			return r.WithHookReport(e.opts.Now()), nil
		}
		b.wakeOwner()
		return r, errEnded
	})
	return ignoreEnded(err)
}

// turnEnded records that the turn is over which a prompt has begun.
func (e *Engine) turnEnded(ctx context.Context, b *sessionQueue, id string, w prompt.HookReport) error {
	_, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		at := e.reportedAt(b, &r)
		if r.Instance != w.Instance || at.IsZero() || !w.At.After(at) {
			return r, errEnded
		}
		switch {
		case w.Aborted && r.State == prompt.Submitted:
			return r.Move(prompt.Submitted, e.opts.Now(), reasonAborted)
		case w.Aborted && r.State == prompt.Injected:
			e.abortInjected(b, id)
		case w.Aborted:
		case r.State == prompt.Submitted:
			return r.MarkWorked(e.opts.Now())
		case r.State == prompt.Injected:
			e.mu.Lock()
			b.worked[id] = !b.aborted[id]
			e.mu.Unlock()
			b.wakeOwner()
		}
		return r, errEnded
	})
	return ignoreEnded(err)
}

func ignoreEnded(err error) error {
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// recentlyEnded is how many ended receipts are read to find the sessions whose hooks
// report prompts.
const recentlyEnded = 1000

// restoreReportersLocked finds the sessions whose hooks report prompts, by the receipts that
// their reports advanced under a previous controller.
func (e *Engine) restoreReportersLocked(receipts []prompt.Receipt) {
	for _, r := range receipts {
		if strings.Contains(r.Evidence, prompt.SignHook) && r.Instance != "" && e.hookReporters[r.Session].instance == "" {
			e.hookReporters[r.Session] = hookReporter{instance: r.Instance}
		}
	}
}

// hookReporter is an instance whose hooks report its prompts.
type hookReporter struct {
	instance string
	began    time.Time // of the present turn, when its begin was reported; zero: its end was
}

// hasReports reports whether an instance's hooks report its prompts.
func (e *Engine) hasReports(session, instance string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return instance != "" && e.hookReporters[session].instance == instance
}

// turnOf returns when the hooks of an instance reported the beginning of the present
// turn; zero if they reported none, or its end.
func (e *Engine) turnOf(session, instance string) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.hookReporters[session]; instance != "" && t.instance == instance {
		return t.began
	}
	return time.Time{}
}

// opening bounds how long an agent that was started with a prompt may take to begin with it,
// on a machine with much to do.
const opening = time.Minute

// opensBy returns until when nothing is typed at an instance because it may be about to
// begin with the prompt of its command line, which its hook reports like any other: it
// shows an input box and rests before. Zero: it has begun, or has none.
func (o *owner) opensBy(v session.Snapshot) time.Time {
	if !v.Running || !o.opts.Opens(v) || o.hasReports(v.Session, v.Instance) {
		return time.Time{}
	}
	return v.StartedAt.Add(opening)
}

// name keeps the name of a prompt that is about to be handed over.
func (o *owner) name(r *prompt.Receipt) {
	name := o.nameOf(o.queue, r)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.names[r.ID] = name
}

// reportEvidence returns the agent's own word of an injected prompt as evidence; empty: it has none.
func (o *owner) reportEvidence(id, seen string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.queue.reported[id]; ok {
		seen = prompt.SignHook
	} else if !o.queue.worked[id] {
		return ""
	}
	if o.queue.worked[id] {
		return prompt.WithWorked(seen)
	}
	return seen
}
