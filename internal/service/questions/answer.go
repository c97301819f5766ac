package questions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// anonymousResponder is the recorded name of a person who answers without a name.
const anonymousResponder = "somebody"

// Respond answers an open question, once. It returns the state of the question after the session
// has been read again.
//
// It returns client.ErrRefused if the question has ended, if another answer is being sent, or if
// the instance that asked does not run. It returns client.ErrInvalid if the question does not offer
// the answer. In these cases nothing was sent. client.ErrTimeout means that the answer was sent and
// the question is still open after 5 s.
func (d *Service) Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error) {
	by := textfmt.Truncate(strings.TrimSpace(req.By), maxWord)
	if by == "" || by == byPolicy {
		by = anonymousResponder
	}
	return d.answer(ctx, strings.ToLower(strings.TrimSpace(id)), func(p session.Pending) (reply, error) { return choose(p, req) }, by)
}

// answer sends the answer that make returns for the question id, and waits until a reading of the
// session shows its effect. by is the name of the responder.
func (d *Service) answer(ctx context.Context, id string, make func(session.Pending) (reply, error), by string) (client.Pending, error) {
	if err := d.life.WaitLoaded(ctx); err != nil {
		return client.Pending{}, err
	}
	a, err := d.begin(ctx, id, make, by)
	if err != nil {
		return client.Pending{}, err
	}
	failed := d.sendAnswer(ctx, a)
	if err = d.recordAnswer(ctx, a, failed); err != nil {
		return client.Pending{}, err
	}
	p, err := d.waitOutcome(ctx, a)
	if err != nil && failed != nil {
		err = fmt.Errorf("%w (%w)", err, failed)
	}
	return p, err
}

// attempt is one answer that is being sent.
type attempt struct {
	id    string
	entry *entry
	done  <-chan struct{}
	view  session.Snapshot
	asked session.Pending // the question when it was answered
	reply reply
}

// isCityQuestion reports whether the city asked the question, and not the agent.
func (a *attempt) isCityQuestion() bool {
	return a.view.CityQuestion != nil && a.view.CityQuestion.RequestID == a.asked.Request
}

// maxAnswerTries is how often an answer is sent to a dialog whose text changes with time.
const maxAnswerTries = 5

// sendAnswer sends an answer to the agent, or to gc itself if gc asked the question. If the dialog
// of the agent has changed since it was read, but only in a displayed time, sendAnswer reads it
// again and answers that.
func (d *Service) sendAnswer(ctx context.Context, a attempt) error {
	if a.isCityQuestion() {
		return a.view.AnswerCityQuestion(ctx, a.reply.response)
	}
	for range maxAnswerTries - 1 {
		err := runtime.Respond(a.view.Provider, a.view.Session, a.reply.response)
		if !errors.Is(err, runtime.ErrInteractionGone) {
			return err
		}
		asked, unread := runtime.Pending(a.view.Provider, a.view.Session)
		v, unknown := d.opts.City.Snapshot(a.view.Session)
		if unread != nil || asked == nil || unknown != nil || v.Instance != a.asked.Instance {
			return err
		}
		v.Pending = asked
		now := raise(v, Policy{})
		if !differsOnlyInTime(&a.asked, now) || !slices.Equal(now.Options, a.asked.Options) {
			return err
		}
		a.asked, a.reply.response.RequestID = *refreshTexts(&a.asked, now), now.Request
	}
	return runtime.Respond(a.view.Provider, a.view.Session, a.reply.response)
}

// begin reserves the open question id for one answer, and saves that. make returns the answer; begin
// returns the attempt to send it, or an error if the question cannot be answered now.
func (d *Service) begin(ctx context.Context, id string, make func(session.Pending) (reply, error), by string) (attempt, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, err := d.openLocked(id)
	if err != nil {
		return attempt{}, err
	}
	v, known := d.foldLocked(ctx, name)
	if _, err = d.openLocked(id); err != nil {
		return attempt{}, err // the new reading shows that it has ended
	}
	e := d.entries[name]
	switch {
	case e.answering || e.isAnswerPending():
		return attempt{}, fmt.Errorf("%w: %s is being answered by %s", client.ErrRefused, id, e.Open.AnsweredBy)
	case !known || v.Provider == nil:
		return attempt{}, fmt.Errorf("%w: %s cannot be reached now: %s", client.ErrUnavailable, e.Open.Agent, cmp.Or(v.Unknown, "nothing is known of its session"))
	case v.Instance != e.Open.Instance:
		return attempt{}, fmt.Errorf("%w: %s was asked by an instance of %s that does not run now", client.ErrRefused, id, e.Open.Agent)
	}
	r, err := make(*e.Open)
	if err != nil {
		return attempt{}, err
	}
	e.answering = true
	d.changeLocked(ctx, e, func(p *session.Pending) { p.Answer, p.AnsweredBy, p.Sent = r.shown, by, time.Time{} })
	return attempt{id: id, entry: e, done: e.done, view: v, asked: *e.Open, reply: r}, nil
}

// openLocked returns the name of the session whose open question has this ID. If there is none, the
// error says why: the question has ended, or the ID is unknown. The caller holds mu.
func (d *Service) openLocked(id string) (name string, err error) {
	for name, e := range d.entries {
		if e.Open != nil && e.Open.ID == id {
			return name, nil
		}
	}
	for _, p := range d.history {
		if p.ID == id {
			return "", fmt.Errorf("%w: %s", client.ErrRefused, ending(p))
		}
	}
	return "", notFound(id)
}

// ending describes for people how a question ended.
func ending(p session.Pending) string {
	at := p.EndedAt.Format(time.RFC3339)
	switch p.State {
	case client.PendingAnswered:
		return fmt.Sprintf("%s was answered by %s with %q at %s", p.ID, p.AnsweredBy, p.Answer, at)
	case client.PendingExpired:
		return fmt.Sprintf("%s was not answered in time; the policy answered %q at %s", p.ID, p.Answer, at)
	case client.PendingGone:
		return fmt.Sprintf("the instance of %s that asked %s was over at %s", p.Agent, p.ID, at)
	default:
		return fmt.Sprintf("%s was answered in the agent itself, not through gc, at %s", p.ID, at)
	}
}

// recordAnswer records the result of sending an answer; failed is the error of the driver. It
// returns an error if certainly nothing was sent. Otherwise the next reading of the session shows
// the effect.
func (d *Service) recordAnswer(ctx context.Context, a attempt, failed error) error {
	refused := notSent(a, failed)
	d.mu.Lock()
	a.entry.answering = false
	d.changeLocked(ctx, a.entry, func(p *session.Pending) {
		if refused == nil {
			p.Sent = d.opts.Now()
		} else {
			p.Answer, p.AnsweredBy = "", ""
		}
	})
	d.mu.Unlock()
	d.SessionChanged(a.view.Session)
	d.opts.Sense(a.view.Session)
	return refused
}

// notSent returns the error for the person who answered, if failed, the error of the driver, proves
// that no answer was sent; nil if one was or may have been sent.
func notSent(a attempt, failed error) error {
	switch {
	case errors.Is(failed, runtime.ErrInteractionUnsupported), errors.Is(failed, errors.ErrUnsupported):
		return fmt.Errorf("%w: gc cannot give this answer to %s; answer it in the agent: gc attach %s: %w", client.ErrUnsupported, a.id, a.view.Agent, failed)
	case failed != nil && a.asked.Kind == client.PendingInputBlocked:
		return fmt.Errorf("%w: the input box of %s is not empty: %w; empty it with gc attach %s, or: gc restart %s", client.ErrRefused, a.view.Agent, failed, a.view.Agent, a.view.Agent)
	case errors.Is(failed, runtime.ErrInteractionGone), errors.Is(failed, runtime.ErrSessionNotFound), errors.Is(failed, runtime.ErrStaleInstance):
		return fmt.Errorf("%w: %s is not asked any more: %w", client.ErrRefused, a.id, failed)
	}
	return nil
}

// waitOutcome waits until the session has been read after the answer, and returns the state of the
// question. If the controller has not read it within [answerGrace], waitOutcome reads the session
// itself.
func (d *Service) waitOutcome(ctx context.Context, a attempt) (client.Pending, error) {
	timer := time.NewTimer(answerGrace)
	defer timer.Stop()
	select {
	case <-a.done:
		return d.Question(ctx, a.id)
	case <-ctx.Done():
		return client.Pending{}, fmt.Errorf("%w: the answer to %s was sent, and %s has not been read since; look with: gc pending --all", client.ErrTimeout, a.id, a.view.Agent)
	case <-d.life.Ended():
		return client.Pending{}, engine.ErrEnded
	case <-timer.C:
	}
	var err error
	if a.isCityQuestion() { // it is in the session's snapshot
		d.mu.Lock()
		d.foldLocked(ctx, a.view.Session)
		d.mu.Unlock()
	} else {
		var asked *runtime.PendingInteraction
		asked, err = runtime.Pending(a.view.Provider, a.view.Session)
		d.readAgain(ctx, a, asked, err)
	}
	p, missing := d.Question(ctx, a.id)
	switch {
	case missing != nil:
		return client.Pending{}, missing
	case p.State != client.PendingOpen:
		return p, nil
	case err != nil:
		return p, fmt.Errorf("%w: the answer to %s was sent, and the session cannot be read: %w", client.ErrTimeout, a.id, err)
	default:
		return p, fmt.Errorf("%w: the answer to %s was sent, and the question is still open; look with: gc peek %s", client.ErrTimeout, a.id, a.view.Agent)
	}
}

// readAgain applies a reading that waitOutcome made itself: asked is the question that the session
// shows now. It does nothing if the instance that was answered does not run any more.
func (d *Service) readAgain(ctx context.Context, a attempt, asked *runtime.PendingInteraction, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, known := d.foldLocked(ctx, a.view.Session)
	e := d.entries[a.view.Session]
	if err != nil || !known || e == nil || e.Open == nil || e.Open.ID != a.id || v.Instance != e.Open.Instance {
		return
	}
	v.Pending, v.ReadAt = asked, d.opts.Now()
	d.applyLocked(ctx, e, v)
	d.SessionChanged(a.view.Session)
}
