package workers

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"gascity/internal/domain/plan"
	"gascity/internal/driver"
	"gascity/runtime"
	"gascity/worker"
)

// compactedOnRequestLocked handles the worker's acknowledgement ack that it has compacted its
// context because gc asked for it. If no event has reported this compaction, it starts a new epoch
// and returns true. The caller holds mu.
func (a *liveRun) compactedOnRequestLocked(ack worker.Ack) bool {
	if ack.State != worker.Consumed || ack.ID != a.compaction || !a.lock.IsActive() || a.contextLog.Epoch > a.lock.Epoch {
		return false
	}
	now := a.engine.opts.Now()
	return a.compactedLocked(newAcknowledgedCompaction(ack.ID, now), now)
}

// renew sends the city's context sections to an agent if they are still to be sent: at the start of
// an instance, after a compaction, and in a new conversation. It may be called for every report of
// a worker, because sections that were sent in this epoch are not sent again.
func (e *Engine) renew(ctx context.Context, a *liveRun) {
	a.mu.Lock()
	owed, epoch := a.contextLog.Pending && a.readyForContextLocked(), a.contextLog.Epoch
	a.mu.Unlock()
	if !owed || e.isStarting(a) {
		return
	}
	mode, ok := e.contextMode(a, epoch)
	if !ok {
		return
	}
	if sections := e.sections(a, mode); len(sections) > 0 {
		if err := e.sendOwnSections(ctx, worker.Context{RunID: a.id, Sections: sections, Mode: mode}, epoch); err != nil {
			e.opts.Logger.Warn("an agent has not received its context yet", "session", a.session, "mode", mode, "error", err)
			return
		}
	}
	a.mu.Lock()
	if a.contextLog.Epoch == epoch && !a.mayResendLocked() {
		a.contextLog.Pending = false
	}
	a.mu.Unlock()
	e.saveMemory(a)
}

// readyForContextLocked reports whether context can be sent to the agent now. It returns false
// while the worker may be about to connect, or if its hooks fetch the context themselves. The
// caller holds mu.
func (a *liveRun) readyForContextLocked() bool {
	switch {
	case a.life.HasOffer(worker.OfferClaim) && a.life.Reports[worker.Busy].Event == "":
		return false // its hooks fetch the context in its first turn
	case a.reader != nil:
		return true
	case a.streamed:
		return a.presenceLocked(returnWithin) != returning
	case a.life.HasOffer(worker.OfferContext):
		return a.engine.opts.Now().Sub(a.life.Reports[worker.Started].Timestamp) > returnWithin
	}
	return a.life.State() != ""
}

// mayResendLocked reports whether a message with context sections was sent whose arrival is not
// confirmed, so that it may have to be sent again. The caller holds mu.
func (a *liveRun) mayResendLocked() bool {
	for id := range a.contextLog.Open {
		if !strings.HasPrefix(id, ClaimPrefix) {
			return true
		}
	}
	return false
}

// isStarting reports whether a start of the run is in progress. The start includes the first
// prompt.
func (e *Engine) isStarting(a *liveRun) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return a.starts > 0
}

// contextMode returns the mode in which the sections of a run's epoch are sent. At the start of an
// instance the mode depends on the conversation, and the sections in the first prompt count as
// sent. ok is false if the session is not known now, or if a later epoch has begun.
func (e *Engine) contextMode(a *liveRun, epoch int) (mode worker.ContextMode, ok bool) {
	a.mu.Lock()
	mode, ok = a.contextLog.Mode, a.contextLog.Epoch == epoch
	a.mu.Unlock()
	if !ok {
		return "", false
	}
	if mode != "" || epoch > 0 {
		return cmp.Or(mode, worker.CompactContext), true // a record of an earlier version has no mode
	}
	v, err := e.opts.City.Snapshot(a.session)
	switch {
	case err != nil:
		return "", false
	case v.Conversation.IsResumed():
		return worker.ResumeContext, true
	}
	argued, typed := e.opts.Carried(a.agent)
	a.mu.Lock()
	streams := a.reader != nil && a.life.HasOffer(worker.OfferContext) // such a worker does not read typed prompts
	a.mu.Unlock()
	own := e.sections(a, worker.FullContext)
	if !streams && !promptMissed(v.Provider, a.session) {
		argued = slices.Concat(argued, typed)
		if slices.ContainsFunc(own, func(s worker.Section) bool { return s.Type == typeCheckpoint }) {
			argued = append(argued, typeCheckpoint) // the note is in the first prompt
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.contextLog.Epoch != epoch {
		return "", false
	}
	a.contextLog = a.contextLog.Carried(argued, own)
	return worker.FullContext, true
}

// epoch returns the present epoch of the conversation.
func (a *liveRun) epoch() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.contextLog.Epoch
}

// typeCheckpoint is the type of the section that describes the previous conversation to a new one.
const typeCheckpoint = "checkpoint"

// sections returns the city's context sections for an agent in a mode. At the start of an instance
// in mode full they include a note about the previous conversation, if there was one.
func (e *Engine) sections(a *liveRun, mode worker.ContextMode) []worker.Section {
	sections := e.opts.Sections(a.agent, mode)
	a.mu.Lock()
	start := a.contextLog.Epoch == 0
	a.mu.Unlock()
	if !start || mode != worker.FullContext {
		return sections
	}
	v, err := e.opts.City.Snapshot(a.session)
	if err != nil || v.Conversation.Former == nil {
		return sections
	}
	if note := plan.HandoffNote(v.Conversation.Former.ID, string(v.Conversation.Former.Failure)); note != "" {
		sections = append(slices.Clip(sections), worker.Section{Type: typeCheckpoint, Content: note})
	}
	return sections
}

// promptMissed reports whether the first prompt of the session's start was not delivered.
func promptMissed(p runtime.Provider, session string) bool {
	if p == nil {
		return false
	}
	note, err := p.GetMeta(session, driver.MetaWarning)
	return err == nil && driver.PromptMissed(note)
}
