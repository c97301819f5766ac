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

// stall is the loop's state of an agent's progress in its turn.
type stall struct {
	plan.Progress
	reading  runtime.Progress // progress in the newest reading
	reported time.Time        // start of the reported stall; zero: no stall is reported
}

// The options of the question what to do about a stalled agent.
const (
	optionWaitOn    = "Wait longer"
	optionInterrupt = "Interrupt its turn"
	optionRestart   = "Restart it"
)

// progress records that the agent showed progress now, and by which sign. now is stored as wall
// clock time, so that a later suspend of the host counts as time that passed.
func (s *stall) progress(sign string, now time.Time) { s.At, s.Sign = now.Round(0), sign }

// progressed applies the progress in a reading of the agent's channels. The program that reports it
// may use another clock, so its time is only compared with the time that it reported before: if
// they differ, the agent made progress.
func (l *loop) progressed(e *entry, p runtime.Progress) {
	s := &e.sensing.stall
	s.Reported = s.Reported || p != (runtime.Progress{})
	if s.At.IsZero() || !p.At.Equal(s.reading.At) || p.Tool != s.reading.Tool {
		s.progress(p.Sign, l.now())
	}
	s.reading, s.Tool, s.Screen = p, p.Tool, p.Screen
	if !e.action.StalledSince.IsZero() || e.action.Verb == plan.VerbInterrupt {
		l.markChanged(e)
	}
}

// trackStall emits an event when a stall begins (the agent is in a turn without progress for too
// long) and when it ends. A stall begins only after a fresh observation and a fresh reading.
func (l *loop) trackStall(e *entry, a *plan.Action) {
	s := &e.sensing.stall
	switch {
	case a.StalledSince.IsZero() && s.reported.IsZero():
	case a.StalledSince.IsZero():
		lasted := l.now().Sub(s.reported)
		s.reported, s.Interrupted = time.Time{}, time.Time{}
		l.emit(event.SessionStallEnded, e, "the agent makes progress again, or its turn is over",
			map[string]string{"sign": s.Sign, "seconds": strconv.Itoa(int(lasted.Seconds()))})
		l.markUnpublished(e)
	case s.reported.IsZero() && e.job == nil && l.hasFreshObservation(e):
		s.reported = a.StalledSince
		l.emit(event.SessionStalled, e, fmt.Sprintf("the agent has shown no sign of progress in its turn for %s", textfmt.Span(l.now().Sub(a.StalledSince))),
			map[string]string{"since": explain.Stamp(a.StalledSince), "sign": s.Sign, "action": string(a.Verb)})
		l.markUnpublished(e)
	}
}

// interruptStalled interrupts the turn of an agent that shows no progress, once for each stall.
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
			l.emit(event.SessionInterrupted, e, "gc interrupted the agent's turn because it showed no progress", nil)
			l.sense(e)
		}
	})
}

// askAboutStall adds to a snapshot the question what gc should do about a stalled agent.
func (l *loop) askAboutStall(e *entry, v *session.Snapshot) {
	since, s := e.sensing.stall.reported, &e.sensing.stall // since identifies the question
	prompt := fmt.Sprintf("%s has shown no sign of progress in its turn since %s.", v.Agent, since.Format(time.TimeOnly))
	if s.Sign != "" {
		prompt += " The last sign was " + s.Sign + "."
	}
	l.askPerson(e, v, runtime.PendingInteraction{
		RequestID: "stalled-" + v.Instance + "-" + strconv.FormatInt(since.UnixNano(), 36), Kind: client.PendingStalled,
		Prompt: prompt, Options: []string{optionWaitOn, optionInterrupt, optionRestart},
	}, func(l *loop, e *entry, chosen string) error {
		switch {
		case !e.sensing.stall.reported.Equal(since), l.ending != nil:
			return runtime.ErrInteractionGone
		case chosen != optionInterrupt && chosen != optionRestart: // every other answer means: wait longer
		case l.frozen != "":
			return fmt.Errorf("%w: gc cannot write its database; answer again in a moment", client.ErrUnavailable)
		case e.job != nil:
			return fmt.Errorf("%w: gc is doing something else with %s now; answer again in a moment", client.ErrUnavailable, e.rec.Agent)
		case chosen == optionInterrupt:
			l.interruptStalled(e)
		default:
			e.rec.ResetFailures()
			e.touch()
			e.order, e.stopAt = plan.OrderRestart, l.now()
		}
		e.sensing.stall.progress("a person answered", l.now())
		return nil
	})
}
