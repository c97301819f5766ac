package plan

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// ConversationSettleTime is how long an agent must run before it counts as being in its
// conversation. Some agents accept input before they search for the conversation.
const ConversationSettleTime = 10 * time.Second

// ResumeRetryDelay is the delay before another attempt to resume a conversation that is in use.
const ResumeRetryDelay = time.Second

// ChooseConversation returns the conversation for the next start of the session s: the previous one
// c, to be resumed, or a new one. Its Rung says how the agent is started into it. Store the result
// before the start. The zero conversation means that the agent CLI chooses the id itself.
//
// Every start resumes the existing conversation, unless a person or the configuration requests a
// new one, or the agent CLI cannot resume. A one-shot command begins a new one each time, because a
// resumed one would do nothing.
func ChooseConversation(s *Session, c session.Conversation, now time.Time) session.Conversation {
	next := c.Next(newConversationID(), func(c session.Conversation, rung session.Rung) bool {
		_, ok := s.ResumeCommand(c, rung)
		return ok && s.Config.Lifecycle != runtime.LifecycleOneShot
	})
	if next.IsResumed() {
		return next
	}
	if _, ok := s.WithConversation(next.ID); !ok {
		if next.ID = ""; next.Former == nil {
			return session.Conversation{}
		}
	}
	next.Dir, next.Mode, next.At = s.Config.WorkDir, s.Resume.Mode, now
	return next
}

// ConversationConfig returns the runtime configuration for a start with a conversation from
// [ChooseConversation]. ok is false if the configuration has changed since; call Choose again then.
func ConversationConfig(s *Session, c session.Conversation) (cfg runtime.Config, ok bool) {
	switch {
	case c.IsResumed():
		return s.ResumeCommand(c, c.Rung)
	case c.ID == "":
		cfg, ok = s.Config, s.Resume.New == ""
	default:
		cfg, ok = s.WithConversation(c.ID)
	}
	if c.Former != nil {
		cfg = WithHandoffNote(cfg, c.Former.Conversation(), string(c.Former.Failure))
	}
	return cfg, ok
}

// ApplyConversationReading updates c, the stored conversation, with the one that the running agent
// reports in r. It returns true if c changed. It ignores the reports of a one-shot command, which
// is never resumed.
func ApplyConversationReading(c *session.Conversation, s *Session, r runtime.Reading) bool {
	said := r.Conversation
	if said == nil || s == nil || s.Config.Lifecycle == runtime.LifecycleOneShot {
		return false
	}
	l := session.ReportedConversation{ID: said.ID, Dir: said.Dir, Mode: said.Mode, At: r.At}
	if l.ID != c.ID {
		l.Dir, l.Mode = cmp.Or(l.Dir, c.Dir, s.Config.WorkDir), cmp.Or(l.Mode, s.Resume.Mode)
	}
	return c.Update(l)
}

// notFoundCode is the exit status of a shell for a command that it cannot find.
const notFoundCode = 127

// idMark is the placeholder for the conversation's id in the failure patterns.
const idMark = "<id>"

// resumePattern is a text in an agent's last output, in lower case, that indicates a failure.
type resumePattern struct {
	failure session.ResumeFailure
	text    string
}

// resumeFailurePatterns returns the texts by which agent CLIs report failures. Each text must be
// about a conversation: "already in use" alone could be about a network address, and "not found"
// about a file.
func resumeFailurePatterns() []resumePattern {
	return []resumePattern{
		{session.ResumeInUse, idMark + " is already in use"},
		{session.ResumeInUse, idMark + " already in use"},
		{session.ResumeInUse, "session id already in use"},
		{session.ResumeInUse, "session is already in use"},
		{session.ResumeInUse, "conversation is already in use"},
		{session.ResumeUnable, "it cannot resume a conversation"},
		{session.ResumeExpired, "conversation has expired"},
		{session.ResumeExpired, "session has expired"},
		{session.ResumeExpired, idMark + " has expired"},
		{session.ResumeWrongDir, "belongs to another directory"},
		{session.ResumeWrongDir, "different directory"},
		{session.ResumeNotFound, "no conversation found"},
		{session.ResumeNotFound, "no session found"},
		{session.ResumeNotFound, "conversation not found"},
		{session.ResumeNotFound, "session not found"},
		{session.ResumeNotFound, idMark + " not found"},
		{session.ResumeNotFound, idMark + " was not found"},
		{session.ResumeNotFound, "found for " + idMark},
		{session.ResumeNotFound, "found with id " + idMark},
	}
}

// FindResumeFailure returns why an agent that exited could not resume its conversation, from its
// exit status and its last output. It returns "" if the agent was not started to resume one, or if
// it exited for another reason: with status 0, in an unknown way, or by a signal without a known text.
func FindResumeFailure(c *session.Conversation, exit *runtime.Exit, output string) session.ResumeFailure {
	if !c.IsResumed() || exit == nil || exit.Code == notFoundCode || exit.Code == 0 && exit.Signal == "" {
		return ""
	}
	words := strings.Join(strings.Fields(output), " ")
	words = strings.ToLower(strings.ReplaceAll(words, c.ID, idMark))
	for _, quote := range []string{`"`, "'", "`"} {
		words = strings.ReplaceAll(words, quote+idMark+quote, idMark)
	}
	for _, p := range resumeFailurePatterns() {
		if strings.Contains(words, p.text) {
			return p.failure
		}
	}
	if exit.Signal != "" {
		return "" // it was killed, which proves nothing about the conversation
	}
	return session.ResumeOther
}

// newConversationID returns a random UUID. Every agent CLI that accepts an id accepts a UUID.
func newConversationID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
