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

// RecordHookReport records the report of an agent CLI's hook that a prompt has started a turn (then
// the report has the hash of the prompt), or that the turn has ended (then it has none). It advances
// the receipt of that prompt, whether the prompt was typed or sent in another way. A
// report changes nothing if a person typed the prompt, if it comes from another instance, or if it
// is older than the delivery. The report is saved when RecordHookReport returns nil.
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
	e.mu.Unlock()
	b := e.queueOf(w.Session)
	if b == nil {
		return nil
	}
	var failed []error
	if w.Hash == "" {
		for _, r := range e.open(b) {
			failed = append(failed, e.turnEnded(ctx, b, r.ID, w))
		}
	} else if id := e.findTurnReceipt(b, w); id != "" {
		failed = append(failed, e.recordTurnStart(ctx, b, id, w))
	} else {
		b.wakeup.Wake() // it is a prompt from the agent's command line or of a person: prompts that waited for its report may go on
	}
	return errors.Join(failed...)
}

// findTurnReceipt returns the ID of the receipt whose prompt started the turn that the hook reports
// in w: the first delivered one with this text whose turn was not reported yet. It returns "" if
// there is none, for example because a person typed the prompt.
func (e *Engine) findTurnReceipt(b *sessionQueue, w prompt.HookReport) (id string) {
	var first *prompt.Receipt
	for _, r := range e.open(b) {
		if !r.MatchesTurnStart(w) || e.hashOf(b, r) != w.Hash || !e.reportedAt(b, r).IsZero() {
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

// hashOf returns the hash of a prompt's text, by which hooks name the prompt. The text of a
// submitted prompt is not in memory, so its hash was stored before. hashOf returns "" if the hash
// is not known.
func (e *Engine) hashOf(b *sessionQueue, r *prompt.Receipt) string {
	if name := e.stateOf(b, r.ID).hash; name != "" || r.State != prompt.Injected {
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

// reportedAt returns when the agent's hook reported that the prompt started a turn; zero: it has
// not.
func (e *Engine) reportedAt(b *sessionQueue, r *prompt.Receipt) time.Time {
	if at := e.stateOf(b, r.ID).reported; !at.IsZero() {
		return at
	}
	if r.State == prompt.Submitted && strings.Contains(r.Evidence, prompt.SignHook) {
		return r.UpdatedAt
	}
	return time.Time{}
}

// recordTurnStart records the report of a hook that the prompt of the receipt started a turn. If
// the delivery attempt has not finished, the receipt changes when it finishes.
func (e *Engine) recordTurnStart(ctx context.Context, b *sessionQueue, id string, w prompt.HookReport) error {
	_, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if !r.MatchesTurnStart(w) {
			return r, errEnded
		}
		e.update(b, id, func(r *openReceipt) { r.reported = w.At })
		if r.State == prompt.Submitted {
			return r.WithHookReport(e.opts.Now()), nil
		}
		b.wakeup.Wake()
		return r, errEnded
	})
	return ignoreEnded(err)
}

// turnEnded records that the turn of a prompt has ended.
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
			e.update(b, id, func(r *openReceipt) { r.worked = !r.aborted })
			b.wakeup.Wake()
		}
		return r, errEnded
	})
	return ignoreEnded(err)
}

// ignoreEnded returns nil if err says that the receipt is not open any more (errEnded), otherwise
// err.
func ignoreEnded(err error) error {
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// recentlyEnded is how many ended receipts are read at the start, to restore what an earlier
// controller knew.
const recentlyEnded = 1000

// restoreReportersLocked restores, from the receipts, which instances have hooks that report their
// prompts. The caller holds e.mu.
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
	began    time.Time // when the start of the present turn was reported; zero: no turn is reported
}

// hasReports reports whether hooks of this instance have reported a prompt, so that they can be
// expected to report the next one.
func (e *Engine) hasReports(session, instance string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return instance != "" && e.hookReporters[session].instance == instance
}

// firstTurnLimit is the longest time that an agent may need to start its first turn, on a busy machine.
const firstTurnLimit = time.Minute

// firstTurnDeadline returns the time until which nothing is typed because the instance may be about
// to work on the prompt of its command line. Before that turn it looks idle and shows an input box.
// It returns zero if the turn has started or there is no such prompt.
func (o *owner) firstTurnDeadline(v session.Snapshot) time.Time {
	if !v.Running || !o.opts.Opens(v) || o.hasReports(v.Session, v.Instance) {
		return time.Time{}
	}
	return v.StartedAt.Add(firstTurnLimit)
}

// saveHash stores the hash of the text of a prompt that is about to be delivered, to recognize it
// in a hook's report.
func (o *owner) saveHash(r *prompt.Receipt) {
	name := o.hashOf(o.queue, r)
	o.update(o.queue, r.ID, func(r *openReceipt) { r.hash = name })
}

// reportEvidence returns the evidence from the agent's worker or hook that it got an injected
// prompt; "" if neither has reported it. seen is the evidence of the delivery attempt.
func (o *owner) reportEvidence(id, seen string) string {
	r := o.stateOf(o.queue, id)
	if !r.reported.IsZero() {
		seen = prompt.SignHook
	} else if !r.worked {
		return ""
	}
	if r.worked {
		return prompt.WithWorked(seen)
	}
	return seen
}
