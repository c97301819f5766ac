package session

import (
	"cmp"
	"strings"
	"time"
	"unicode"
)

// Rung is one way to start an agent with a conversation.
type Rung string

// The rungs of the resume ladder, in the order in which they are tried.
const (
	RungResume Rung = "resume" // resume the conversation in the configured directory
	RungRepair Rung = "repair" // resume the conversation in its own working directory
	RungFresh  Rung = "fresh"  // begin a new conversation, with a note about the previous one
)

// ResumeFailure is the reason why a conversation could not be resumed.
type ResumeFailure string

// The failures. The empty value means no failure.
const (
	ResumeInUse    ResumeFailure = "in use"       // another program uses the conversation
	ResumeNotFound ResumeFailure = "not found"    // the conversation does not exist, or not in this directory
	ResumeWrongDir ResumeFailure = "wrong folder" // the conversation belongs to another directory
	ResumeExpired  ResumeFailure = "expired"      // the model provider has deleted the conversation
	ResumeUnable   ResumeFailure = "not offered"  // the agent cannot resume conversations
	// ResumeHandedOver is not a failure: the conversation was ended because its context was full,
	// and the next one gets a note about it.
	ResumeHandedOver ResumeFailure = "its context was full"
	ResumeOther      ResumeFailure = "unclear" // the agent exited, and its output does not contain a known reason
)

// Ladder returns in which way the next start resumes the conversation c. failure is why the last attempt failed; empty if there
// was none. After two failed attempts it returns [RungFresh]: a new conversation begins.
//
// A conversation that is in use is tried again in the same way, because the other program often exits soon. One that is not found
// is tried in its own directory, because it may have been searched in the wrong one.
func Ladder(c Conversation, failure ResumeFailure) Rung {
	if c.ID == "" || failure == ResumeExpired || failure == ResumeUnable || failure == ResumeHandedOver || c.Rungs >= maxRungs {
		return RungFresh
	}
	switch failure {
	case ResumeNotFound, ResumeWrongDir, ResumeOther:
		return RungRepair
	default:
		if c.Rungs > 0 && failure == "" {
			return RungRepair
		}
		return RungResume
	}
}

// maxRungs is the number of failed rungs after which a new conversation begins.
const maxRungs = 2

// RecordFailure records that an attempt to resume the conversation failed. After ResumeExpired and
// ResumeUnable there are no further attempts.
func (c *Conversation) RecordFailure(failure ResumeFailure) {
	if failure != "" {
		c.Failure = failure
	}
	switch failure {
	case "":
	case ResumeExpired, ResumeUnable:
		c.Rungs = maxRungs
	default:
		c.Rungs = min(c.Rungs+1, maxRungs)
	}
}

// MarkReached records that the agent has resumed the conversation, and clears the earlier failures to do so.
func (c *Conversation) MarkReached() { c.Rungs, c.Failure = 0, "" }

// Next returns the conversation of the next start: the current one with the next rung of its
// ladder, or a new one with the given id. resumable reports whether the agent can be started in a
// conversation with a rung.
//
// If the current conversation never began, the one that it replaced counts as the current one. A
// new conversation refers to the previous one only if resuming that one failed.
func (c Conversation) Next(id string, resumable func(Conversation, Rung) bool) Conversation {
	if f := c.Former; f != nil && f.Failure == ResumeHandedOver && (c.Closed || !c.Begun) {
		return Conversation{ID: id, Rung: RungFresh, Former: f}
	}
	if !c.Begun {
		if c.Former == nil {
			return Conversation{ID: id, Rung: RungFresh}
		}
		c = c.Former.Conversation()
	}
	rung := Ladder(c, c.Failure)
	switch {
	case c.Closed || !resumable(c, RungResume):
		return Conversation{ID: id, Rung: RungFresh}
	case rung == RungFresh:
		return Conversation{ID: id, Rung: RungFresh, Former: c.abandoned()}
	}
	c.Rung = rung
	return c
}

// IsResumed reports whether the current instance was started to resume an existing conversation.
func (c *Conversation) IsResumed() bool { return c.Rung == RungResume || c.Rung == RungRepair }

// MarkNotBegun is for a new conversation whose start failed. If the previous conversation could not be resumed for an unclear
// reason, its failures are cleared, so that the next start tries to resume it again.
func (c *Conversation) MarkNotBegun() {
	if !c.Begun && c.Former != nil && c.Former.Failure == ResumeOther {
		former := *c.Former
		former.Rungs, former.Failure = 0, ""
		c.Former = &former
	}
}

// WithoutPresent returns the conversation to record for an instance that gc did not start, whose conversation is unknown: an
// empty one that refers to the previous one, which the next start resumes.
func (c Conversation) WithoutPresent() Conversation {
	switch {
	case c.Closed || c.ID == "" && c.Former == nil:
		return Conversation{}
	case !c.Begun:
		return Conversation{Former: c.Former}
	}
	return Conversation{Former: c.abandoned()}
}

// CloseForHandoff closes the conversation: the next start begins a new one, which gets a note
// about this one.
func (c *Conversation) CloseForHandoff() {
	former := c.abandoned()
	former.Failure = ResumeHandedOver
	c.Closed, c.Former = true, former
}

// abandoned returns what a later conversation of the agent keeps about this one: which it was, and why it could not be continued.
func (c *Conversation) abandoned() *Abandoned {
	return &Abandoned{ID: c.ID, Dir: c.Dir, Mode: c.Mode, Rungs: c.Rungs, At: c.At, Failure: c.Failure}
}

// Conversation returns the conversation as it was when it was abandoned.
func (a *Abandoned) Conversation() Conversation {
	return Conversation{ID: a.ID, Dir: a.Dir, Mode: a.Mode, Rungs: a.Rungs, At: a.At, Begun: true, Failure: a.Failure}
}

// ReportedConversation is a conversation that an agent reported.
type ReportedConversation struct {
	ID, Dir, Mode string
	At            time.Time
}

// maxConversationID is the maximum length of a conversation id in bytes.
const maxConversationID = 256

// Update changes c to the conversation that an agent reported and returns true if c changed. A report about the current
// conversation changes only its directory and mode. Update ignores an invalid id: longer than 256 bytes, beginning with "-", or
// with blanks or control characters.
//
// If the current conversation had no id yet, the reported id belongs to it, so its Rung and its reference to the previous one
// stay. Closed always stays.
func (c *Conversation) Update(l ReportedConversation) bool {
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar }
	if l.ID == "" || len(l.ID) > maxConversationID || strings.HasPrefix(l.ID, "-") || strings.ContainsFunc(l.ID, odd) {
		return false
	}
	before := *c
	switch {
	case c.ID != l.ID:
		*c = Conversation{ID: l.ID, Dir: l.Dir, Mode: l.Mode, At: l.At, Begun: true, Closed: before.Closed}
		if f := before.Former; before.ID == "" && f != nil && f.ID != l.ID {
			c.Rung, c.Former = before.Rung, f
		}
	default:
		c.Dir, c.Mode, c.Begun = cmp.Or(l.Dir, c.Dir), cmp.Or(l.Mode, c.Mode), true
	}
	return *c != before
}
