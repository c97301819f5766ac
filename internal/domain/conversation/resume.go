// Package conversation brings an agent back to its conversation: it chooses how the
// next start comes to one, makes the configuration of that start, and reads in an
// agent's last words why it did not get there. Nothing here waits.
package conversation

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// SettleTime is how long an agent must live before it counts as being in its
// conversation: some take input before they look for it.
const SettleTime = 10 * time.Second

// Again is the pause before a conversation that is in use is tried once more.
const Again = time.Second

// Choose returns the conversation of the next start, and how it comes to it. It is
// to be stored before the start. The zero conversation: its id is not known.
//
// Every start continues the conversation that there was, unless a person or the
// configuration wants a new one, or the agent CLI cannot. A command that runs once
// gets a new one each time: to continue one is to do nothing.
func Choose(s *plan.Session, c session.Conversation, now time.Time) session.Conversation {
	next := c.Next(NewID(), func(c session.Conversation, rung session.Rung) bool {
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

// Config returns the Config of a start in a conversation that [Choose] returned.
// ok is false if the configuration has changed since and it has to choose again.
func Config(s *plan.Session, c session.Conversation) (cfg runtime.Config, ok bool) {
	switch {
	case c.IsResumed():
		return s.ResumeCommand(c, c.Rung)
	case c.ID == "":
		cfg, ok = s.Config, s.Resume.New == ""
	default:
		cfg, ok = s.WithConversation(c.ID)
	}
	if c.Former != nil {
		cfg = plan.WithHandoffNote(cfg, c.Former.Conversation(), string(c.Former.Failure))
	}
	return cfg, ok
}

// ApplyReading takes over the conversation that a running agent says it is in, and reports
// whether that is news. A command that runs once is never resumed.
func ApplyReading(c *session.Conversation, s *plan.Session, r runtime.Reading) bool {
	said := r.Conversation
	if said == nil || s == nil || s.Config.Lifecycle == runtime.LifecycleOneShot {
		return false
	}
	l := session.ReportedConversation{ID: said.ID, Dir: said.Dir, Mode: said.Mode, At: r.At, Running: true}
	if l.ID != c.ID {
		l.Dir, l.Mode = cmp.Or(l.Dir, c.Dir, s.Config.WorkDir), cmp.Or(l.Mode, s.Resume.Mode)
	}
	return c.Update(l)
}

// notFoundCode is what a shell says of a command that it cannot find.
const notFoundCode = 127

// idMark stands for the conversation's id in the words of a failure.
const idMark = "<id>"

// patterns returns the words of the agent CLIs. Each is about a conversation for
// certain: an address may be in use too, and a file not found.
func patterns() []session.ResumePattern {
	return []session.ResumePattern{
		{Failure: session.ResumeInUse, Text: idMark + " is already in use"},
		{Failure: session.ResumeInUse, Text: idMark + " already in use"},
		{Failure: session.ResumeInUse, Text: "session id already in use"},
		{Failure: session.ResumeInUse, Text: "session is already in use"},
		{Failure: session.ResumeInUse, Text: "conversation is already in use"},
		{Failure: session.ResumeUnable, Text: "it cannot resume a conversation"},
		{Failure: session.ResumeExpired, Text: "conversation has expired"},
		{Failure: session.ResumeExpired, Text: "session has expired"},
		{Failure: session.ResumeExpired, Text: idMark + " has expired"},
		{Failure: session.ResumeWrongDir, Text: "belongs to another directory"},
		{Failure: session.ResumeWrongDir, Text: "different directory"},
		{Failure: session.ResumeNotFound, Text: "no conversation found"},
		{Failure: session.ResumeNotFound, Text: "no session found"},
		{Failure: session.ResumeNotFound, Text: "conversation not found"},
		{Failure: session.ResumeNotFound, Text: "session not found"},
		{Failure: session.ResumeNotFound, Text: idMark + " not found"},
		{Failure: session.ResumeNotFound, Text: idMark + " was not found"},
		{Failure: session.ResumeNotFound, Text: "found for " + idMark},
		{Failure: session.ResumeNotFound, Text: "found with id " + idMark},
	}
}

// Failure returns why an agent that ended did not get into its conversation,
// empty if it did, if it was not to go on in one, or if its end has another
// cause.
func Failure(c *session.Conversation, exit *runtime.Exit, output string) session.ResumeFailure {
	if !c.IsResumed() || exit != nil && exit.Code == notFoundCode {
		return ""
	}
	words := strings.Join(strings.Fields(output), " ")
	words = strings.ReplaceAll(words, c.ID, idMark)
	for _, quote := range []string{`"`, "'", "`"} {
		words = strings.ReplaceAll(words, quote+idMark+quote, idMark)
	}
	return session.ClassifyResume(exit, words, patterns())
}

// NewID returns a random UUID, the one form of an id that every agent CLI takes
// that takes any.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
