package controller

import (
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// orderCase is the state of a session before an order.
type orderCase struct {
	Record  session.Record // a copy; the order changes it
	Session *plan.Session  // nil: not configured any more
	Action  plan.Action    // the last decision
	Now     time.Time

	Running bool
	Unknown bool // it is unknown whether it runs
}

// orderOutcome is the result of an order. Without Save it takes effect at once; with Save, after the
// store has saved the record.
type orderOutcome struct {
	Save    bool   // the record was changed
	Changed bool   // reported to the caller: the order changes something
	Detail  string // message for the caller; may be empty

	Wake   string // why the session must run; empty: unchanged
	Unwake bool   // clears the earlier wake reason
	Retry  bool   // clears the fault of a failed stop
	Events []orderEvent
}

// orderEvent is an event that an order causes.
type orderEvent struct {
	Kind event.Kind
	Text string
	Data map[string]string
}

// order is the code of one request about a session. It gets the state of the session in c and the
// request in req, and may change c.Record. The returned outcome describes the effects. If it returns an error, nothing is
// changed.
type order func(c *orderCase, req client.LifecycleRequest) (orderOutcome, error)

// unchanged returns the outcome of an order that had nothing to do. detail says why.
func unchanged(detail string) (orderOutcome, error) { return orderOutcome{Detail: detail}, nil }

// changedOutcome returns the outcome of an order that has changed the record.
func changedOutcome(detail string, events ...orderEvent) orderOutcome {
	return orderOutcome{Save: true, Changed: true, Detail: detail, Events: events}
}
