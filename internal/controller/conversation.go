package controller

import (
	"time"

	"gascity/internal/controller/ops"
	"gascity/internal/domain/conversation"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// recordResumeFailure takes note of why an agent did not get into its conversation, and reports
// whether its end is no failure of its own: the next way is tried then. How often
// is bounded by the ladder. A failure of an unknown kind counts.
func (l *loop) recordResumeFailure(e *entry, failure session.ResumeFailure, words string) bool {
	c := &e.rec.Conversation
	if failure == "" {
		return false
	}
	tried := c.Rung
	c.RecordFailure(failure)
	e.touch()
	text := "the conversation " + c.ID + " could not be resumed: " + string(failure)
	l.c.emit(event.SessionResumeFailed, e, text, map[string]string{
		"conversation": c.ID, "rung": string(tried), "failure": string(failure), "error": ops.FirstLine(words),
	})
	if failure == session.ResumeOther {
		return false
	}
	if e.rec.Fault, e.rec.NextAt = text+"; "+words, (time.Time{}); failure == session.ResumeInUse {
		e.rec.NextAt = l.now().Add(l.c.opts.Jitter(conversation.Again))
	}
	return true
}

// recordLateResumeFailure is lapsed for an agent whose start was complete. One that lived for a
// while was in its conversation.
func (l *loop) recordLateResumeFailure(e *entry, fault string) bool {
	c := &e.rec.Conversation
	if l.now().Sub(e.rec.StartedAt) >= conversation.SettleTime {
		c.MarkReached()
		return false
	}
	failure := conversation.Failure(c, e.rec.Exit, e.rec.Screen)
	return failure != session.ResumeOther && l.recordResumeFailure(e, failure, fault)
}

// conversing returns the Config of a relaunch. It takes two passes: the
// conversation must be in the store before the agent is in it.
func (l *loop) conversing(e *entry, s *plan.Session) (runtime.Config, bool) {
	if e.before != nil {
		if cfg, ok := conversation.Config(s, e.rec.Conversation); ok {
			return cfg, true
		}
		l.unready(e)
	}
	before := e.rec.Conversation
	e.before, e.rec.Conversation = &before, conversation.Choose(s, before, l.now())
	e.touch()
	l.dirty = true
	return runtime.Config{}, false
}

// unready takes back the choice of a relaunch that was not carried out.
func (l *loop) unready(e *entry) {
	if e.before != nil {
		e.rec.Conversation, e.before = *e.before, nil
		e.touch()
	}
}
