package controller

import (
	"cmp"
	"context"
	"time"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/proc"
	"gascity/runtime"
)

// entry is the loop's state of one session. Only the loop accesses it.
type entry struct {
	rec session.Record

	// versions of rec: the current one, the newest one passed to the saver, and the newest one that
	// the store holds
	version, queued, stored uint64
	versions                *uint64 // the newest of any entry
	saveFault               string

	wakeQueued bool // a prompt was queued since the session was woken

	backend          *backend
	owner            plan.Owner
	known            bool   // this controller has started or adopted the instance
	notedEpoch       uint64 // the epoch in the session's metadata; zero: not known
	startInterrupted bool   // its start was interrupted when an earlier controller stopped

	before      *session.Conversation // the conversation before a pending relaunch; nil: none is pending
	blocked     bool                  // its last start was refused because the session exists
	begun       []time.Time           // when the last starts began, oldest first
	claimed     bool                  // rec holds the next instance, whose start has not begun
	wakeWhy     string                // why gc starts a sleeping session; empty: it does not
	asked       *asked                // the request that is being stored; nil: none
	drainSynced string                // the drain deadline that was reported to the agent

	// the last observation
	stale         bool // it must be observed before gc acts on it
	unknownReason string
	failedLooks   int       // consecutive failed observations
	observeAt     time.Time // no observation before this time
	seen          runtime.Observation
	first         bool      // no observation by this controller before the last one was clear
	again         time.Time // time of the next unconditional observation; zero: none
	unsure        int       // consecutive observations with an unclear result

	sensing   sensing
	obstacles obstacles
	idleSince time.Time // earliest begin of an idle period
	job       *job      // the running job; nil: none
	order     plan.Order
	stopAt    time.Time // no stop before this time
	stopFault string
	driftedAt time.Time
	waitsFrom time.Time // since when a stop that the configuration requires is postponed
	apply     bool      // a person asked to apply the change now
	asks      bool      // gc asked a person about this instance
	confirmed bool      // it was observed after the drift was detected
	hints     string    // the hints that this controller passed to the provider; empty: none
	disrupted bool

	action plan.Action // the last decision

	// used while the city is being stopped
	tree  []proc.Info // the agent's processes before the interrupt
	tries int
	stops int // finished stops, successful or not
	last  client.StopResult
}

// job is one operation on one session, run by one goroutine.
type job struct {
	kind    jobKind
	verb    plan.Verb // shown in the status; empty for an observation
	cancel  context.CancelFunc
	overdue time.Time    // from this time on it is not counted in the limits
	attempt *ops.Attempt // set for a start only
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

// running reports whether the session exists and its agent has not exited.
func (e *entry) running() bool {
	return e.unknownReason == "" && e.seen.Session == runtime.Alive && e.seen.Agent != runtime.Dead
}

// starting reports whether a start is under way.
func (e *entry) starting() bool { return e.job != nil && e.job.attempt != nil }

// exists reports whether the session or its agent process exists.
func (e *entry) exists() bool {
	return e.unknownReason == "" && (e.seen.Session == runtime.Alive || e.seen.Agent == runtime.Alive)
}

// unknown reports whether the existence of the session is not known.
func (e *entry) unknown() bool {
	return e.unknownReason != "" || e.backend.health.WhyUnknown(e.rec.Session) != "" || e.seen.Session == runtime.Unknown
}

// unread reports whether an observation of the session is due or running. Until it has finished,
// the owner of the session may be unknown.
func (e *entry) unread() bool {
	return e.stale || e.job != nil && e.job.kind == jobObserve
}

// observed returns the state of an entry as input for [plan.Diff]. queued prompts are read from
// Options.Queued.
func (l *loop) observed(e *entry) plan.Observed {
	o := plan.Observed{
		Record: e.rec, Owner: e.owner,
		UnknownReason: e.unknownReason, Observation: e.seen, Managed: e.known, StartInterrupted: e.startInterrupted, CanRelaunch: e.backend.canRelaunch(e.rec.Session),
		Order: e.order, StopAt: e.stopAt, DriftedAt: e.driftedAt, Disrupted: e.disrupted, PostponedSince: e.waitsFrom, Apply: e.apply,

		Activity: e.sensing.activity, Pending: e.sensing.pending != nil, Progress: e.sensing.stall.Progress,
		IdleSince: e.idleSince, WakeReason: e.wakeWhy, Ended: e.sensing.ended,
	}
	if l.ctx != nil {
		o.Queued, o.PromptAt = l.c.opts.Queued(e.rec.Session)
	}
	if e.wakeQueued = e.wakeWhy != "" && (e.wakeQueued || o.Queued > 0); l.wakeReasonOver(e, o.Queued) {
		e.wakeWhy, o.WakeReason = "", ""
	}
	o.UnknownReason = cmp.Or(e.backend.health.WhyUnknown(e.rec.Session), o.UnknownReason)
	if e.job != nil {
		o.Working = e.job.verb
	}
	o.Fault = cmp.Or(o.Fault, e.stopFault)
	return o
}

// wakeReasonOver reports whether a session that was woken from sleep may sleep again. If it was
// woken for prompts, that is when no prompt is queued. Otherwise it is [wakeHolds] after its start,
// which gives a client time to attach.
func (l *loop) wakeReasonOver(e *entry, queued int) bool {
	if e.wakeWhy == "" || !e.running() || !e.known || e.job != nil && e.job.kind == jobStart {
		return false
	}
	until := e.rec.StartedAt.Add(wakeHolds)
	l.wakeAt(until)
	return !l.now().Before(until) || e.wakeQueued && queued == 0
}

// identify copies the instance token that was observed to the record.
func (e *entry) identify(seen runtime.Observation) {
	e.rec.Token = seen.InstanceToken
	e.rec.Instance = session.PublicInstance(seen.InstanceToken)
}
