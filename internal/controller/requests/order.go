// Package requests is what a person, or the agent itself, can ask to be kept of a
// session: each order judges what it finds and changes a copy of the record. It is
// pure; the change has no effect before the store has it.
package requests

import (
	"slices"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// Case is a session as an order finds it.
type Case struct {
	Record  session.Record // a copy, which the order changes
	Session *plan.Session  // nil: it is not configured any more
	Action  plan.Action    // the last decision
	Now     time.Time

	Running bool
	Unknown bool // it is unknown whether it runs
}

// Outcome is what an order comes to. Without Keep it is so at once, with it when
// the store has the record.
type Outcome struct {
	Save    bool   // the record was changed
	Changed bool   // the answer: something is otherwise from now on
	Detail  string // empty: nothing else is to be said

	Wake   string // why the session is to run; empty leaves what was asked before
	Unwake bool   // nothing of that counts any more
	Retry  bool   // a failed stop is forgotten
	Events []Event
}

// Event is an event of an order.
type Event struct {
	Kind event.Kind
	Text string
	Data map[string]string
}

// Order judges a case. An error changes nothing.
type Order func(c *Case) (Outcome, error)

// unchanged returns the outcome of an order that finds nothing to do.
func unchanged(detail string) (Outcome, error) { return Outcome{Detail: detail}, nil }

// changedOutcome returns the outcome of an order that has changed the record.
func changedOutcome(detail string, told ...Event) Outcome {
	return Outcome{Save: true, Changed: true, Detail: detail, Events: told}
}

// Change is what an order changes of a record.
type Change struct{ Before, After session.Record }

// Apply makes the change in a record that has gone on since: what the order has
// not touched stays.
func (c *Change) Apply(r *session.Record) {
	from, to := &c.Before, &c.After
	if from.Hold != to.Hold {
		r.Hold = to.Hold
	}
	if from.Drain != to.Drain {
		r.Drain = to.Drain
	}
	if from.Renew != to.Renew {
		r.Renew = to.Renew
	}
	if from.Obstacle.ProbeAt != to.Obstacle.ProbeAt && from.Obstacle.Kind == r.Obstacle.Kind {
		r.Obstacle.Probes, r.Obstacle.ProbeAt, r.Obstacle.Released = to.Obstacle.Probes, to.Obstacle.ProbeAt, to.Obstacle.Released
	}
	if from.Obstacle.Kind != "" && to.Obstacle.Kind == "" {
		r.Obstacle = session.Obstacle{}
	}
	if from.Conversation != to.Conversation && r.Conversation.ID == from.Conversation.ID {
		r.Conversation.Closed, r.Conversation.Former = to.Conversation.Closed, to.Conversation.Former
	}
	if !slices.Equal(from.Failures, to.Failures) || from.Fault != to.Fault || from.NextAt != to.NextAt {
		r.Failures, r.Streak, r.NextAt, r.Fault = to.Failures, to.Streak, to.NextAt, to.Fault
	}
}

// stamp returns a time that is set, in RFC 3339.
func stamp(t time.Time) string { return t.Format(time.RFC3339) }
