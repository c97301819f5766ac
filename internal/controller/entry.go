package controller

import (
	"context"
	"time"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/proc"
	"gascity/runtime"
)

// entry is one session as the loop knows it. Only the loop touches it.
type entry struct {
	rec session.Record

	// versions of rec: of the present one, of the newest that the saver was given,
	// and of the newest that the store has
	version, queued, stored uint64
	versions                *uint64 // the newest of any entry
	saveFault               string

	wakeQueued bool // a prompt has waited since it was woken

	backend    *backend
	owner      plan.Owner
	known      bool   // this controller has started or adopted the instance
	notedEpoch uint64 // the epoch that stands with the session, as far as is known
	cut        bool   // its start was cut off by the end of the controller that began it

	before      *session.Conversation // before a relaunch whose conversation is in rec; nil: none is due
	blocked     bool                  // its last start was refused because the session exists
	begun       []time.Time           // when the last starts began, oldest first
	claimed     bool                  // rec holds the next instance, whose start has not begun
	wakeWhy     string                // why a session that sleeps is to run
	asked       *asked                // the order that is being stored, nil if there is none
	drainSynced string                // the drain that was reported to the agent

	// the last look
	stale         bool // it must be looked at before anything is done
	unknownReason string
	failedLooks   int       // looks in a row that failed
	observeAt     time.Time // no look before this
	seen          runtime.Observation
	first         bool      // the last look was this controller's first of the session
	again         time.Time // look again then, whether anything happens or not
	unsure        int       // looks in a row that left a question open

	sensing   sensing
	obstacles obstacles
	unseen    error     // the program of the instance that runs was not found before its start; nil: it was
	idleSince time.Time // idleness counts from then at the earliest
	job       *job      // what is being done, nil if nothing
	order     plan.Order
	stopAt    time.Time // no stop before this
	stopFault string
	driftedAt time.Time
	waitsFrom time.Time // since when a stop that the configuration asks for waits
	apply     bool      // a person wants it now
	asks      bool      // a person was asked about it in this instance
	confirmed bool      // it was looked at since the drift was noticed
	hints     string    // that its place was given in this controller's life; empty: none yet
	disrupted bool

	action plan.Action // the last decision

	// when the city ends
	tree  []proc.Info // the processes before the interrupt
	tries int
	stops int // stops that came to an end, of any result
	last  client.StopResult
}

// job is one act on one session, done by one goroutine.
type job struct {
	kind    jobKind
	verb    plan.Verb // what status shows; empty for a look
	cancel  context.CancelFunc
	overdue time.Time    // from then on it counts in no limit
	attempt *ops.Attempt // of a start
}

type jobKind uint8

const (
	jobObserve jobKind = iota
	jobStart
	jobStop
	jobChange // relaunch, live commands
	jobAdopt
	jobInterrupt
	jobInterruptStalled
)

func (e *entry) running() bool {
	return e.unknownReason == "" && e.seen.Session == runtime.Alive && e.seen.Agent != runtime.Dead
}

// starting reports whether a start is under way.
func (e *entry) starting() bool { return e.job != nil && e.job.attempt != nil }

// exists reports whether an agent or a dead session is there.
func (e *entry) exists() bool {
	return e.unknownReason == "" && (e.seen.Session == runtime.Alive || e.seen.Agent == runtime.Alive)
}

// unknown reports whether the existence of the session is not known.
func (e *entry) unknown() bool {
	return e.unknownReason != "" || e.backend.health.WhyUnknown(e.rec.Session) != "" || e.seen.Session == runtime.Unknown
}

// unread reports whether a session was listed and no look has shown its owner yet.
func (e *entry) unread() bool {
	return e.stale || e.job != nil && e.job.kind == jobObserve
}

// observed returns the observation of an entry for a diff.
func (l *loop) observed(e *entry) plan.Observed {
	o := plan.Observed{
		Name: e.rec.Session, Provider: e.rec.Provider, Agent: e.rec.Agent, Owner: e.owner,
		UnknownReason: e.unknownReason, Observation: e.seen, Managed: e.known, StartInterrupted: e.cut, Stored: ops.Stored(&e.rec.Stored), CanRelaunch: e.backend.canRelaunch(e.rec.Session),
		Order: e.order, Failures: e.rec.Failures, Fault: e.rec.Fault, Exit: e.rec.Exit, Lost: e.rec.Lost,
		NextAt: e.rec.NextAt, StopAt: e.stopAt, DriftedAt: e.driftedAt, Disrupted: e.disrupted, PostponedSince: e.waitsFrom, Apply: e.apply,

		Epoch: e.rec.Epoch, Activity: e.sensing.activity, Pending: e.sensing.pending != nil, Progress: e.sensing.stall.Progress, AgeFrom: e.rec.StartedAt,
		IdleSince: e.idleSince, Warning: e.rec.Warning, Hold: e.rec.Hold, Drain: e.rec.Drain, Obstacle: e.rec.Obstacle,
		RestartRequestedAt: e.rec.Renew, WakeReason: e.wakeWhy, Ended: e.sensing.ended,
	}
	if l.c.opts.Queued != nil && l.ctx != nil {
		o.Queued, o.PromptAt = l.c.opts.Queued(e.rec.Session)
	}
	if e.wakeQueued = e.wakeWhy != "" && (e.wakeQueued || o.Queued > 0); l.awoken(e, o.Queued) {
		e.wakeWhy, o.WakeReason = "", ""
	}
	if why := e.backend.health.WhyUnknown(e.rec.Session); why != "" {
		o.UnknownReason = why
	}
	if e.job != nil {
		o.Working = e.job.verb
	}
	if o.Fault == "" {
		o.Fault = e.stopFault
	}
	return o
}

// awoken reports whether what a session was woken for is over: the prompts, if it
// was for some, else the time in which its client may have attached.
func (l *loop) awoken(e *entry, queued int) bool {
	if e.wakeWhy == "" || !e.running() || !e.known || e.job != nil && e.job.kind == jobStart {
		return false
	}
	until := e.rec.StartedAt.Add(wakeHolds)
	l.wakeAt(until)
	return !l.now().Before(until) || e.wakeQueued && queued == 0
}

// identify takes over which instance was seen.
func (e *entry) identify(seen runtime.Observation) {
	e.rec.Token, e.rec.Handle = seen.InstanceToken, seen.Handle
	e.rec.Instance = session.PublicInstance(seen.InstanceToken)
}
