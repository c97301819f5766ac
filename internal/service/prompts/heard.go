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

// Heard takes what the hooks of an agent CLI say of the prompts that reach it, however
// they did: that one has begun a turn, or that the turn is over. A receipt whose prompt
// it is goes on by that. What is said of a prompt that a person typed, of another
// instance or of a time before the prompt was handed over changes nothing. It is kept
// when it returns nil.
func (e *Engine) Heard(ctx context.Context, w prompt.Word) error {
	if err := e.ready(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	if w.Hash != "" {
		e.tells[w.Session] = telling{w.Instance, e.opts.Now()}
	} else if e.tells[w.Session].instance == w.Instance {
		e.tells[w.Session] = telling{instance: w.Instance}
	}
	b := e.boxes[w.Session]
	e.mu.Unlock()
	if b == nil {
		return nil
	}
	var failed []error
	if w.Hash == "" {
		for _, r := range e.open(b) {
			failed = append(failed, e.turnEnded(ctx, b, r.ID, w))
		}
	} else if id := e.taken(b, w); id != "" {
		failed = append(failed, e.begun(ctx, b, id, w))
	} else {
		b.rouse() // the prompt of its command line, or a person's: what waits for that goes on
	}
	return errors.Join(failed...)
}

// taken finds the receipt whose prompt has begun a turn: the first delivered one
// without a reported turn.
func (e *Engine) taken(b *box, w prompt.Word) (id string) {
	e.mu.Lock()
	open := b.listLocked()
	e.mu.Unlock()
	var first *prompt.Receipt
	for _, r := range open {
		if !r.Begins(w) || e.nameOf(b, r) != w.Hash || !e.heardAt(b, r).IsZero() {
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
func (e *Engine) nameOf(b *box, r *prompt.Receipt) string {
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

// heardAt is when the agent's hook said that the prompt began a turn; zero: it has not.
func (e *Engine) heardAt(b *box, r *prompt.Receipt) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at, ok := b.heard[r.ID]; ok {
		return at
	}
	if r.State == prompt.Submitted && strings.Contains(r.Evidence, prompt.SignHook) {
		return r.UpdatedAt
	}
	return time.Time{}
}

// begun notes that a prompt has begun a turn. The end of its attempt takes that over.
func (e *Engine) begun(ctx context.Context, b *box, id string, w prompt.Word) error {
	_, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		if !r.Begins(w) {
			return r, errOver
		}
		e.mu.Lock()
		b.heard[id] = w.At
		e.mu.Unlock()
		if r.State == prompt.Submitted {
			return r.Heard(e.opts.Now()), nil
		}
		b.rouse()
		return r, errOver
	})
	return unlessOver(err)
}

// turnEnded notes that the turn is over which a prompt has begun.
func (e *Engine) turnEnded(ctx context.Context, b *box, id string, w prompt.Word) error {
	_, err := e.change(ctx, b, id, func(r prompt.Receipt) (prompt.Receipt, error) {
		at := e.heardAt(b, &r)
		if r.Instance != w.Instance || at.IsZero() || !w.At.After(at) {
			return r, errOver
		}
		switch {
		case w.Aborted && r.State == prompt.Submitted:
			return r.Move(prompt.Submitted, e.opts.Now(), reasonAborted)
		case w.Aborted && r.State == prompt.Injected:
			e.abortInjected(b, id)
		case w.Aborted:
		case r.State == prompt.Submitted:
			return r.Worked(e.opts.Now())
		case r.State == prompt.Injected:
			e.mu.Lock()
			b.worked[id] = !b.aborted[id]
			e.mu.Unlock()
			b.rouse()
		}
		return r, errOver
	})
	return unlessOver(err)
}

func unlessOver(err error) error {
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// recentlyEnded is how many ended receipts are read to find the sessions whose hooks
// report prompts.
const recentlyEnded = 1000

// tellsLocked finds the sessions whose hooks report prompts, by the receipts that
// their reports advanced under a previous controller.
func (e *Engine) tellsLocked(receipts []prompt.Receipt) {
	for _, r := range receipts {
		if strings.Contains(r.Evidence, prompt.SignHook) && r.Instance != "" && e.tells[r.Session].instance == "" {
			e.tells[r.Session] = telling{instance: r.Instance}
		}
	}
}

// telling is an instance whose hooks report its prompts.
type telling struct {
	instance string
	began    time.Time // of the present turn, when its begin was reported; zero: its end was
}

// tellsOf reports whether an instance's hooks report its prompts.
func (e *Engine) tellsOf(session, instance string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return instance != "" && e.tells[session].instance == instance
}

// turnOf returns when the hooks of an instance reported the beginning of the present
// turn; zero if they reported none, or its end.
func (e *Engine) turnOf(session, instance string) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.tells[session]; instance != "" && t.instance == instance {
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
func (o *owner) opensBy(v session.View) time.Time {
	if !v.Running || !o.opts.Opens(v) || o.tellsOf(v.Session, v.Instance) {
		return time.Time{}
	}
	return v.StartedAt.Add(opening)
}

// name keeps the name of a prompt that is about to be handed over.
func (o *owner) name(r *prompt.Receipt) {
	name := o.nameOf(o.box, r)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.box.names[r.ID] = name
}

// word is the agent's own word of an injected prompt as evidence; empty: it has none.
func (o *owner) word(id, seen string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.box.heard[id]; ok {
		seen = prompt.SignHook
	} else if !o.box.worked[id] {
		return ""
	}
	if o.box.worked[id] {
		return prompt.WithWorked(seen)
	}
	return seen
}
