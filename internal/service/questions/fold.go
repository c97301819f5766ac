package questions

import (
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// answerGrace is how long after an answer the question may still be seen before the
// answer counts as without effect.
const answerGrace = 5 * time.Second

// Bounds of what is kept of a question. Drivers stay far below.
const (
	maxPrompt  = 64 << 10
	maxLabel   = 4 << 10
	maxOptions = 200
	maxWord    = 200
)

// QuestionState is what is known of the questions of one session.
type QuestionState struct {
	Open *session.Pending // the episode that is open; nil: none
	Read time.Time        // the newest reading that has been folded; zero: none since the controller began
}

// Fold returns the case after the view, and the episodes that the view ended. A
// newly raised episode is Open without an ID. It changes nothing that it is
// given.
func Fold(c QuestionState, v session.Snapshot, p Policy, now time.Time) (next QuestionState, ended []session.Pending) {
	if v.Unknown != "" {
		return c, nil
	}
	if c.Open != nil && isInstanceOver(c.Open, v) {
		ended = append(ended, finish(*c.Open, client.PendingGone, now))
		c.Open = nil
	}
	if v.ReadAt.IsZero() || v.ReadAt.Before(c.Read) || v.Instance == "" {
		return c, ended
	}
	question := v.Question()
	if c.Open != nil && c.Read.IsZero() && question == nil && v.Activity.State == runtime.ActivityWaiting {
		return c, ended // a question is about to be read: the next reading says whether it is the same one
	}
	c.Read = v.ReadAt
	if c.Open != nil && question != nil && question.RequestID == c.Open.Request {
		return c, ended
	}
	var asked *session.Pending
	if question != nil {
		asked = raise(v, p)
	}
	switch {
	case c.Open == nil:
	case asked != nil && differsOnlyInTime(c.Open, asked):
		asked = refreshTexts(c.Open, asked)
	default:
		ended = append(ended, finish(*c.Open, finishUnseen(c.Open), now))
	}
	c.Open = asked
	return c, ended
}

// isInstanceOver reports whether the instance that asked is positively over.
func isInstanceOver(open *session.Pending, v session.Snapshot) bool {
	if v.Instance != "" && v.Instance != open.Instance {
		return true
	}
	return !v.Running && v.State.IsDown() // otherwise it may be about to start or to stop
}

// isAnswerPending reports whether an answer has been handed over and no reading yet
// shows whether it had an effect.
func (c QuestionState) isAnswerPending() bool {
	return c.Open != nil && !c.Open.Sent.IsZero() && c.Read.Before(c.Open.Sent.Add(answerGrace))
}

// finishUnseen returns how an episode ends that a reading does not show any more.
func finishUnseen(open *session.Pending) string {
	switch {
	case open.Sent.IsZero():
		return client.PendingResolved
	case open.AnsweredBy == byPolicy:
		return client.PendingExpired
	default:
		return client.PendingAnswered
	}
}

func finish(p session.Pending, state string, now time.Time) session.Pending {
	p.State, p.EndedAt = state, now
	if p.Sent.IsZero() {
		p.Answer, p.AnsweredBy = "", "" // it is not known to have been sent
	}
	return p
}

// raise makes an episode of the question that the view shows.
func raise(v session.Snapshot, p Policy) *session.Pending {
	asked := v.Question()
	if asked == v.CityQuestion {
		p = Policy{} // only a person answers what the city asks
	}
	open := &session.Pending{
		Request: asked.RequestID, Session: v.Session, Agent: v.Agent, Instance: v.Instance,
		Kind: bound(asked.Kind, maxWord), Prompt: bound(asked.Prompt, maxPrompt), Options: labels(asked.Options),
		Tool: bound(asked.Metadata[runtime.MetaTool], maxLabel), Input: bound(asked.Metadata[runtime.MetaInput], maxPrompt),
		Source: bound(asked.Metadata[runtime.MetaSource], maxWord), Why: bound(asked.Metadata[runtime.MetaWhy], maxLabel),
		NoText: asked.Metadata[runtime.MetaText] == "no", Suggest: bound(asked.Metadata[runtime.MetaSuggest], maxLabel),
		Since: v.ReadAt, State: client.PendingOpen,
	}
	if open.Kind == "" {
		open.Kind = runtime.WaitQuestion
	}
	if until, err := time.Parse(time.RFC3339, asked.Metadata[runtime.MetaUntil]); err == nil { // else it is not known
		open.Until = until
	}
	p.plan(open)
	return open
}

func labels(options []string) []string {
	out := slices.Clone(options[:min(len(options), maxOptions)])
	for i := range out {
		out[i] = bound(out[i], maxLabel)
	}
	return out
}

// bound cuts s to at most limit bytes, between characters.
func bound(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
