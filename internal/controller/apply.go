package controller

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// The options of the question that asks a person whether gc may stop a session now.
const (
	optionStop = "Stop it now"
	optionWait = "Wait longer"
)

// answerLimit is how long a person's answer may wait for the loop.
const answerLimit = 5 * time.Second

// trackWait records since when a stop that the configuration requires is postponed, and clears that
// time when the stop is not postponed any more. It also clears a person's request to apply the
// change now if there is nothing left to apply.
func (l *loop) trackWait(e *entry, a *plan.Action) {
	switch {
	case !a.Postponed:
		e.waitsFrom = time.Time{}
	case e.waitsFrom.IsZero():
		e.waitsFrom, l.dirty = l.now(), true // the next decision computes when a person is asked
	}
	if a.Verb == plan.VerbNone && e.job == nil || a.Verb == plan.VerbStart {
		e.apply = false // nothing waits
	}
}

// askAbout adds to the snapshot v of a session the question that gc itself asks a person about it:
// whether gc may stop it now, or what to do about a stall. If gc has no question, v stays without
// one.
func (l *loop) askAbout(e *entry, a *plan.Action, v *session.Snapshot) {
	stalled := e.sensing.stall.reported
	if a.Ask == "" && stalled.IsZero() && !e.asks {
		return
	}
	if now := l.now(); v.ReadAt.Before(now) {
		v.ReadAt = now // gc's own question needs no reading of the agent
	}
	switch {
	case v.Instance == "", a.Ask == "" && stalled.IsZero():
		return
	case a.Ask == "":
		l.askAboutStall(e, v)
		return
	}
	from := e.waitsFrom // identifies the question
	l.askPerson(e, v, runtime.PendingInteraction{
		RequestID: "city-" + v.Instance + "-" + strconv.FormatInt(from.UnixNano(), 36), Kind: runtime.WaitQuestion,
		Prompt: a.Ask, Options: []string{optionStop, optionWait},
	}, func(l *loop, e *entry, chosen string) error {
		switch {
		case e.action.Ask == "", !e.waitsFrom.Equal(from):
			return runtime.ErrInteractionGone
		case chosen == optionStop:
			e.apply = true
		default: // every other answer means: wait longer
			e.waitsFrom = l.now()
		}
		return nil
	})
}

// askPerson adds the question q of gc itself to the snapshot v of a session. apply applies a person's answer in the loop: chosen is
// the option, empty for any other answer. It returns ErrInteractionGone if the question is no longer open.
func (l *loop) askPerson(e *entry, v *session.Snapshot, q runtime.PendingInteraction, apply func(l *loop, e *entry, chosen string) error) {
	e.asks = true
	q.Metadata = map[string]string{runtime.MetaSource: "city"}
	c, key := l.c, e.rec.Key()
	v.CityQuestion = &q
	v.AnswerCityQuestion = func(ctx context.Context, r runtime.InteractionResponse) error {
		ctx, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		chosen := ""
		if r.Action == runtime.ActionChoose {
			chosen = r.Text
		}
		_, err := ask(ctx, c, func(l *loop, answer func(struct{}, error)) {
			err := runtime.ErrInteractionGone
			if e := l.entries[key]; e != nil {
				err = apply(l, e, chosen)
			}
			l.dirty = l.dirty || err == nil
			answer(struct{}{}, err)
		})
		return err
	}
}

// Apply applies postponed configuration changes now, without waiting for the end of a turn or for a
// person's answer. It applies them to the named agents or sessions, or to all if no name is given.
func (c *Controller) Apply(ctx context.Context, req client.ApplyRequest) (client.Done, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Done, error)) {
		entries, err := l.applicable(req.Targets)
		if err != nil {
			answer(client.Done{}, err)
			return
		}
		for _, e := range entries {
			e.apply, l.dirty = true, true
		}
		done := client.Done{Changed: len(entries) > 0, Detail: fmt.Sprintf("gc now applies the changed configuration of %d sessions", len(entries))}
		switch len(entries) {
		case 0:
			done.Detail = "no change of the configuration is pending"
		case 1:
			done.Session, done.Detail = entries[0].rec.Session, "gc now applies its changed configuration"
		}
		answer(done, nil)
	})
}

// applicable returns the sessions that have a postponed configuration change: those with the given
// agent or session names, or all if names is empty. It returns an error if the city is being
// stopped, the store fails, or a name is not known.
func (l *loop) applicable(names []string) ([]*entry, error) {
	switch {
	case l.ending != nil:
		return nil, fmt.Errorf("%w: the city is being stopped", client.ErrRefused)
	case l.frozen != "":
		return nil, l.notSavedError()
	}
	wanted := map[*entry]bool{}
	for _, name := range names {
		e, err := l.find(name)
		if err != nil {
			return nil, err
		}
		wanted[e] = true
	}
	l.decide() // with the newest configuration
	var entries []*entry
	for _, a := range l.actions {
		e := l.entries[a.Key()]
		if e == nil || len(names) > 0 && !wanted[e] {
			continue
		}
		if a.Postponed || a.Drifted && a.Verb == plan.VerbWait ||
			a.Desired == client.DesiredAbsent && e.running() {
			entries = append(entries, e)
		}
	}
	return entries, nil
}
