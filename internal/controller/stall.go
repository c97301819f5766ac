package controller

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// stall is what the loop knows of an agent's progress in its turn.
type stall struct {
	plan.Progress
	reading  runtime.Progress // by the newest reading
	reported time.Time        // since when the stall that was reported lasts; zero: none is
}

// The options of the question what to do about a stalled agent.
const (
	optionWaitOn    = "Wait longer"
	optionInterrupt = "Interrupt its turn"
	optionRestart   = "Restart it"
)

// progress records a sign. The time is one of the wall clock: what the host slept is added to it
// when it wakes up.
func (s *stall) progress(sign string, now time.Time) { s.At, s.Sign = now.Round(0), sign }

// progressed takes the progress of a reading. The reader may have another clock, so that a
// sign is new if its time differs from that of the last one.
func (l *loop) progressed(e *entry, p runtime.Progress) {
	s := &e.sensing.stall
	s.Reported = s.Reported || p != (runtime.Progress{})
	if s.At.IsZero() || !p.At.Equal(s.reading.At) || p.Tool != s.reading.Tool {
		s.progress(p.Sign, l.now())
	}
	s.reading, s.Tool, s.Screen = p, p.Tool, p.Screen
	if !e.action.StalledSince.IsZero() || e.action.Verb == plan.VerbInterrupt {
		l.edge(e)
	}
}

// trackStall reports the begin and the end of a stall, each once. A stall is believed on a fresh
// look and a fresh reading only.
func (l *loop) trackStall(e *entry, a *plan.Action) {
	s := &e.sensing.stall
	switch {
	case a.StalledSince.IsZero() && s.reported.IsZero():
	case a.StalledSince.IsZero():
		lasted := l.now().Sub(s.reported)
		s.reported, s.Interrupted = time.Time{}, time.Time{}
		l.c.emit(event.SessionStallEnded, e, "the agent makes progress again, or its turn is over",
			map[string]string{"sign": s.Sign, "seconds": strconv.Itoa(int(lasted.Seconds()))})
		l.markUnpublished(e)
	case s.reported.IsZero() && e.job == nil && l.certain(e):
		s.reported = a.StalledSince
		l.c.emit(event.SessionStalled, e, fmt.Sprintf("the agent has shown no sign of progress in its turn for %s", textfmt.Span(l.now().Sub(a.StalledSince))),
			map[string]string{"since": explain.Stamp(a.StalledSince), "sign": s.Sign, "action": string(a.Verb)})
		l.markUnpublished(e)
	}
}

// interruptStalled ends the turn of an agent that shows no progress, once for each stall.
func (l *loop) interruptStalled(e *entry) {
	p, name, token := e.backend.provider, e.rec.Session, e.rec.Token
	e.sensing.stall.Interrupted = l.now().Round(0)
	l.begin(e, jobInterruptStalled, "", interruptLimit, func(ctx context.Context) func() {
		err := ops.Interrupt(ctx, p, name, token)
		return func() {
			if err != nil {
				l.c.opts.Logger.Warn("cannot interrupt a stalled agent", "session", name, "error", err)
				return
			}
			l.c.emit(event.SessionInterrupted, e, "the agent was asked to abandon its turn, which shows no progress", nil)
			l.sense(e)
		}
	})
}

// askAboutStall adds to a view the question what to do about a stalled agent.
func (l *loop) askAboutStall(e *entry, v *session.Snapshot) {
	e.asks = true
	since, s := e.sensing.stall.reported, &e.sensing.stall
	prompt := fmt.Sprintf("%s has shown no sign of progress in its turn since %s.", v.Agent, since.Format(time.TimeOnly))
	if s.Sign != "" {
		prompt += " The last sign was " + s.Sign + "."
	}
	v.CityQuestion = &runtime.PendingInteraction{
		RequestID: "stalled-" + v.Instance + "-" + strconv.FormatInt(since.UnixNano(), 36), Kind: client.PendingStalled,
		Prompt: prompt, Options: []string{optionWaitOn, optionInterrupt, optionRestart},
		Metadata: map[string]string{runtime.MetaSource: "city"},
	}
	c, key := l.c, e.rec.Key()
	v.AnswerCityQuestion = func(ctx context.Context, r runtime.InteractionResponse) error {
		return c.answerStall(ctx, key, since, r)
	}
}

// answerStall takes a person's answer to the question what to do about a stalled agent.
func (c *Controller) answerStall(ctx context.Context, key session.Key, since time.Time, r runtime.InteractionResponse) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := ask(ctx, c, func(l *loop, answer func(struct{}, error)) {
		e := l.entries[key]
		if e == nil || !e.sensing.stall.reported.Equal(since) || l.ending != nil {
			answer(struct{}{}, runtime.ErrInteractionGone)
			return
		}
		chosen := ""
		if r.Action == runtime.ActionChoose {
			chosen = r.Text
		}
		switch {
		case chosen != optionInterrupt && chosen != optionRestart: // any other answer is to wait
		case l.frozen != "" || e.job != nil:
			answer(struct{}{}, fmt.Errorf("%w: something else is done with %s now, or nothing can be stored; answer again in a moment", client.ErrUnavailable, e.rec.Agent))
			return
		case chosen == optionInterrupt:
			l.interruptStalled(e)
		default:
			e.rec.ResetFailures()
			e.touch()
			e.order, e.stopAt = plan.OrderRestart, l.now()
		}
		e.sensing.stall.progress("an answer of a person", l.now())
		l.dirty = true
		answer(struct{}{}, nil)
	})
	return err
}
