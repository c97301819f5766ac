package session

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"gascity/runtime"
)

// Rung is one way to bring an agent back to its work.
type Rung string

// The rungs of the ladder, from the top. Each failure leads down, never up.
const (
	RungResume Rung = "resume" // its conversation, where it was
	RungRepair Rung = "repair" // its conversation, after its working directory was put back
	RungFresh  Rung = "fresh"  // a new conversation, with a note of what the previous one was
)

// ResumeFailure is why a conversation could not be resumed.
type ResumeFailure string

// The failures. None is the empty one.
const (
	ResumeInUse    ResumeFailure = "in use"       // another program has it open
	ResumeNotFound ResumeFailure = "not found"    // there is no such conversation, or not in this folder
	ResumeWrongDir ResumeFailure = "wrong folder" // it belongs to another folder
	ResumeExpired  ResumeFailure = "expired"      // the model provider keeps it no more
	ResumeUnable   ResumeFailure = "not offered"  // the agent goes on with no conversation
	// ResumeHandedOver is no failure: the conversation was left because its context was
	// full, and the next one is to know of it.
	ResumeHandedOver ResumeFailure = "its context was full"
	ResumeOther      ResumeFailure = "unclear" // the agent ended, and its words do not say why
)

// ResumePattern is a sign of a failure in an agent's last words.
type ResumePattern struct {
	Failure ResumeFailure
	Text    string // a part of the output, letter case ignored
}

// ClassifyResume returns why a start that was to resume a conversation ended, by
// the first pattern that its last output has. A clean exit and an unobserved one
// are no failure of the conversation, whatever was said before.
func ClassifyResume(exit *runtime.Exit, output string, patterns []ResumePattern) ResumeFailure {
	if exit == nil || exit.Code == 0 && exit.Signal == "" {
		return ""
	}
	words := strings.ToLower(output)
	for _, p := range patterns {
		if p.Text != "" && strings.Contains(words, strings.ToLower(p.Text)) {
			return p.Failure
		}
	}
	if exit.Signal != "" {
		return "" // somebody ended it: that says nothing of the conversation
	}
	return ResumeOther
}

// Ladder chooses how the next start brings the conversation back, after the
// failure of the last attempt, empty if there was none. It gives up resuming after
// two failed rungs at the latest.
//
// One that is in use is tried once more: its user is often about to end. One
// that is not found may only be sought in the wrong folder.
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

const maxRungs = 2

// RecordFailure records that an attempt to resume the conversation failed. One that has
// expired is not tried again, nor one of an agent that cannot.
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

// MarkReached records that the agent is in the conversation: the ladder is whole again.
func (c *Conversation) MarkReached() { c.Rungs, c.Failure = 0, "" }

// Next returns the conversation of the next start: the present one, by the next
// rung of its ladder, or a new one with the given id. resumable says for a rung
// whether the agent can be started in a conversation by it.
//
// A conversation that never began is none: the one that it took the place of is
// the present one then. A new one remembers the one that could not be resumed,
// and nothing of one that was not meant to be.
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

// IsResumed reports whether the present instance was started to go on in a
// conversation that there was.
func (c *Conversation) IsResumed() bool { return c.Rung == RungResume || c.Rung == RungRepair }

// MarkNotBegun records that a start that was to begin the conversation failed. If nothing
// showed that the previous one was at fault, it may well be sound: its ladder is
// whole again.
func (c *Conversation) MarkNotBegun() {
	if !c.Begun && c.Former != nil && c.Former.Failure == ResumeOther {
		former := *c.Former
		former.Rungs, former.Failure = 0, ""
		c.Former = &former
	}
}

// WithoutPresent returns the conversation of an instance that somebody else has started: its id
// is not known. The one that there was is resumed after it.
func (c Conversation) WithoutPresent() Conversation {
	switch {
	case c.Closed || c.ID == "" && c.Former == nil:
		return Conversation{}
	case !c.Begun:
		return Conversation{Former: c.Former}
	}
	return Conversation{Former: c.abandoned()}
}

// CloseForHandoff closes the conversation: the next start begins a new one, which receives a
// note about it.
func (c *Conversation) CloseForHandoff() {
	former := c.abandoned()
	former.Failure = ResumeHandedOver
	c.Closed, c.Former = true, former
}

func (c *Conversation) abandoned() *Abandoned {
	return &Abandoned{ID: c.ID, Dir: c.Dir, Mode: c.Mode, Rungs: c.Rungs, At: c.At, Failure: c.Failure}
}

// Conversation returns the conversation as it was when it was given up.
func (a *Abandoned) Conversation() Conversation {
	return Conversation{ID: a.ID, Dir: a.Dir, Mode: a.Mode, Rungs: a.Rungs, At: a.At, Begun: true, Failure: a.Failure}
}

// ReportedConversation is a conversation that an agent reported.
type ReportedConversation struct {
	ID, Dir, Mode string
	At            time.Time
	// Running says that the agent that reported it is ready and runs. What a start
	// that failed says is the words of an error.
	Running bool
}

const maxConversationID = 256

// Update takes over a conversation that was reported, and reports whether that was
// news. Of the one that the agent is known to be in only folder and mode are. An id
// from an error is never kept, nor one that cannot be an id: longer than 256 bytes,
// or with blanks or control characters in it.
//
// An agent whose conversation had no id yet is in the same one as before: what it is
// in place of is remembered. That a person asked for a new one holds for any.
func (c *Conversation) Update(l ReportedConversation) bool {
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar }
	if !l.Running || l.ID == "" || len(l.ID) > maxConversationID || strings.HasPrefix(l.ID, "-") || strings.ContainsFunc(l.ID, odd) {
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
