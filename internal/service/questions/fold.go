package questions

import (
	"cmp"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// answerGrace is how long after an answer the question may still be shown before gc concludes that
// the answer had no effect.
const answerGrace = 5 * time.Second

// firstReadingLimit is how long the first readings of a new controller may lack the question of an agent
// that waits, or whose activity is unknown: the screen may be in the middle of a repaint, and the worker of
// the agent may not be connected yet. After that time the question is over.
const firstReadingLimit = 30 * time.Second

// The largest sizes of a stored question: bytes of texts, and number of options.
const (
	maxPrompt  = 64 << 10
	maxLabel   = 4 << 10
	maxOptions = 200
	maxWord    = 200
)

// QuestionState is the state of the questions of one session.
type QuestionState struct {
	Open *session.Pending // the open episode; nil: none
	Read time.Time        // time of the newest reading that was applied; zero: none by this controller

	waits time.Time // while Read is zero: when a reading first lacked the question and was undecided
}

// Fold returns the state of a session's questions after the snapshot v, and the questions (episodes) that have ended by it. A new
// question is in next.Open and has no ID yet. Fold does not change its arguments.
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
	if c.Open != nil && c.Read.IsZero() && question == nil && isUndecided(v.Activity.State) {
		if c.waits.IsZero() {
			c.waits = now
		}
		if now.Before(c.waits.Add(firstReadingLimit)) {
			return c, ended // the question is not read yet: the next reading shows whether it is the same
		}
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

// isUndecided reports whether an agent with this activity may have an open question although the reading shows none.
func isUndecided(state runtime.Activity) bool {
	return state == runtime.ActivityWaiting || state == runtime.ActivityUnknown
}

// isInstanceOver reports whether the instance that asked has certainly stopped.
func isInstanceOver(open *session.Pending, v session.Snapshot) bool {
	if v.Instance != "" && v.Instance != open.Instance {
		return true
	}
	return !v.Running && v.State.IsDown() // in other states the instance may be starting or stopping
}

// isAnswerPending reports whether an answer was sent and no reading yet shows whether it had an
// effect.
func (c QuestionState) isAnswerPending() bool {
	return c.Open != nil && !c.Open.Sent.IsZero() && c.Read.Before(c.Open.Sent.Add(answerGrace))
}

// finishUnseen returns the final state of an open question that a reading of the session does not show any more: answered or
// expired if an answer was sent, otherwise resolved.
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

// finish returns the question p in a final state. An answer that is not known to have been sent is removed.
func finish(p session.Pending, state string, now time.Time) session.Pending {
	p.State, p.EndedAt = state, now
	if p.Sent.IsZero() {
		p.Answer, p.AnsweredBy = "", "" // the answer is not known to have been sent
	}
	return p
}

// raise returns a new open question for the question in the snapshot, with the policy p applied. A question of gc itself gets no
// policy, because only a person may answer it.
func raise(v session.Snapshot, p Policy) *session.Pending {
	asked := v.Question()
	if asked == v.CityQuestion {
		p = Policy{} // only a person may answer a question of the city
	}
	open := &session.Pending{
		Request: asked.RequestID, Session: v.Session, Agent: v.Agent, Instance: v.Instance,
		Kind: cmp.Or(textfmt.Truncate(asked.Kind, maxWord), runtime.WaitQuestion), Prompt: textfmt.Truncate(asked.Prompt, maxPrompt), Options: labels(asked.Options),
		Tool: textfmt.Truncate(asked.Metadata[runtime.MetaTool], maxLabel), Input: textfmt.Truncate(asked.Metadata[runtime.MetaInput], maxPrompt),
		Source: textfmt.Truncate(asked.Metadata[runtime.MetaSource], maxWord), Why: textfmt.Truncate(asked.Metadata[runtime.MetaWhy], maxLabel),
		NoText: asked.Metadata[runtime.MetaText] == "no", Suggest: textfmt.Truncate(asked.Metadata[runtime.MetaSuggest], maxLabel),
		Guard: asked.Metadata[session.MetaGuard] == "yes", Dir: textfmt.Truncate(asked.Metadata[session.MetaDir], maxLabel),
		Since: v.ReadAt, State: client.PendingOpen,
	}
	if until, err := time.Parse(time.RFC3339, asked.Metadata[runtime.MetaUntil]); err == nil { // on an error the time is unknown
		open.Until = until
	}
	p.plan(open)
	return open
}

// labels returns the options, cut to the largest sizes.
func labels(options []string) []string {
	out := slices.Clone(options[:min(len(options), maxOptions)])
	for i := range out {
		out[i] = textfmt.Truncate(out[i], maxLabel)
	}
	return out
}
