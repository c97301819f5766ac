package controller

import (
	"time"

	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// recordResumeFailure records and emits as an event that an agent could not resume its
// conversation. It returns true if the next start tries another way to resume it; then the failed
// start does not count as a failure of the agent. It returns false if failure is empty or
// ResumeOther; then the caller counts a failure of the agent. words is the error of the start or
// what the agent printed. The ways to resume are the rungs of [session.Conversation]; their number
// limits how often it returns true.
func (l *loop) recordResumeFailure(e *entry, failure session.ResumeFailure, words string) bool {
	c := &e.rec.Conversation
	if failure == "" {
		return false
	}
	tried := c.Rung
	c.RecordFailure(failure)
	e.touch()
	text := "the conversation " + c.ID + " could not be resumed: " + string(failure)
	l.emit(event.SessionResumeFailed, e, text, map[string]string{
		"conversation": c.ID, "rung": string(tried), "failure": string(failure), "error": ops.FirstLine(words),
	})
	if failure == session.ResumeOther {
		return false
	}
	if e.rec.Fault, e.rec.NextAt = text+"; "+words, (time.Time{}); failure == session.ResumeInUse {
		e.rec.NextAt = l.now().Add(l.c.opts.Jitter(plan.ResumeRetryDelay))
	}
	return true
}

// recordLateResumeFailure checks whether an agent exited after its start because it could not
// resume its conversation, and returns the same as recordResumeFailure. After
// [plan.ConversationSettleTime] the agent had resumed its conversation, so it exited for another
// reason, and the result is false.
func (l *loop) recordLateResumeFailure(e *entry, fault string) bool {
	c := &e.rec.Conversation
	if l.now().Sub(e.rec.StartedAt) >= plan.ConversationSettleTime {
		c.MarkReached()
		return false
	}
	failure := plan.FindResumeFailure(c, e.rec.Exit, e.rec.Screen)
	return failure != session.ResumeOther && l.recordResumeFailure(e, failure, fault)
}

// relaunchConfig returns the Config of a relaunch, in two passes of the loop. In the first pass it
// chooses the conversation, marks the record for saving and returns false. In the second pass, when
// the store has the choice, it returns the Config and true.
func (l *loop) relaunchConfig(e *entry, s *plan.Session) (runtime.Config, bool) {
	if e.before != nil {
		if cfg, ok := plan.ConversationConfig(s, e.rec.Conversation); ok {
			return cfg, true
		}
		l.restoreConversation(e)
	}
	before := e.rec.Conversation
	e.before, e.rec.Conversation = &before, plan.ChooseConversation(s, before, l.now())
	e.touch()
	l.dirty = true
	return runtime.Config{}, false
}

// restoreConversation undoes the choice of [loop.relaunchConfig] after a relaunch that was not
// carried out: the record gets its previous conversation again.
func (l *loop) restoreConversation(e *entry) {
	if e.before != nil {
		e.rec.Conversation, e.before = *e.before, nil
		e.touch()
	}
}
