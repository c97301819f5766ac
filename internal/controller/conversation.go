package controller

import (
	"time"

	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// recordResumeFailure records why an agent could not resume its conversation. It reports whether
// the next start tries another way instead of counting a failure of the agent. The number of rungs
// limits how often that happens. A failure of an unknown kind counts as a failure of the agent.
func (l *loop) recordResumeFailure(e *entry, failure session.ResumeFailure, words string) bool {
	c := &e.rec.Conversation
	if failure == "" {
		return false
	}
	tried := c.Rung
	c.RecordFailure(failure)
	e.touch()
	text := "the conversation " + c.ID + " could not be resumed: " + string(failure)
	l.c.emit(l.ctx, event.SessionResumeFailed, e, text, map[string]string{
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

// recordLateResumeFailure does the same as recordResumeFailure for an agent whose start was
// complete. An agent that ran for [plan.ConversationSettleTime] did reach its conversation.
func (l *loop) recordLateResumeFailure(e *entry, fault string) bool {
	c := &e.rec.Conversation
	if l.now().Sub(e.rec.StartedAt) >= plan.ConversationSettleTime {
		c.MarkReached()
		return false
	}
	failure := plan.FindResumeFailure(c, e.rec.Exit, e.rec.Screen)
	return failure != session.ResumeOther && l.recordResumeFailure(e, failure, fault)
}

// relaunchConfig returns the Config of a relaunch, or false in the first of two passes: the store must
// hold the conversation before the agent enters it.
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

// restoreConversation restores the conversation from before a relaunch that was not carried out.
func (l *loop) restoreConversation(e *entry) {
	if e.before != nil {
		e.rec.Conversation, e.before = *e.before, nil
		e.touch()
	}
}
