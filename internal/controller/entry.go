package controller

import (
	"context"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/plan"
	"gascity/internal/proc"
	"gascity/internal/session"
	"gascity/runtime"
)

// entry is one session as the loop knows it. Only the loop touches it.
type entry struct {
	rec   session.Record
	saved bool // rec is as the store has it

	place *place
	owner plan.Owner
	known bool // this controller has started or adopted the incarnation

	// the last look
	stale  bool // it must be looked at before anything is done
	blind  string
	blinds int       // looks in a row that failed
	lookAt time.Time // no look before this
	seen   runtime.Observation
	again  time.Time // look again then, whether anything happens or not
	unsure int       // looks in a row that left a question open

	// what the agent says
	activity string // a word of client.Agent.Activity, empty if it says nothing
	source   string

	job       *job // what is being done, nil if nothing
	order     plan.Order
	stopAt    time.Time // no stop before this
	stopFault string
	driftedAt time.Time
	confirmed bool // it was looked at since the drift was noticed
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
	overdue time.Time // from then on it counts in no limit
}

type jobKind uint8

const (
	jobLook jobKind = iota
	jobStart
	jobStop
	jobChange // relaunch, live commands
	jobAdopt
	jobInterrupt
)

func (e *entry) running() bool {
	return e.blind == "" && e.seen.Session == runtime.Alive && e.seen.Agent != runtime.Dead
}

// exists reports whether an agent or a corpse is there.
func (e *entry) exists() bool {
	return e.blind == "" && (e.seen.Session == runtime.Alive || e.seen.Agent == runtime.Alive)
}

// unknown reports whether nobody can say if the session exists.
func (e *entry) unknown() bool {
	return e.blind != "" || e.place.blind != "" || e.seen.Session == runtime.Unknown
}

// observed is what a diff is told of the entry.
func (e *entry) observed() plan.Observed {
	o := plan.Observed{
		Name: e.rec.Session, Provider: e.rec.Provider, Agent: e.rec.Agent, Owner: e.owner,
		Blind: e.blind, Seen: e.seen, Known: e.known, Stored: stored(e.rec.Stored), CanRelaunch: e.place.warm(e.rec.Session),
		Order: e.order, Failures: e.rec.Failures, Fault: e.rec.Fault, Exit: e.rec.Exit, Lost: e.rec.Lost,
		NextAt: e.rec.NextAt, StopAt: e.stopAt, DriftedAt: e.driftedAt, Disrupted: e.disrupted,
	}
	if e.place.blind != "" {
		o.Blind = e.place.blind
	}
	if e.job != nil {
		o.Working = e.job.verb
	}
	if e.activity == activityBusy || e.activity == activityWaiting {
		o.Busy = e.activity
	}
	if o.Fault == "" {
		o.Fault = e.stopFault
	}
	return o
}

func stored(f session.Fingerprints) plan.Stored {
	return plan.Stored{Core: f.Core, Provision: f.Provision, Launch: f.Launch, Live: f.Live, Fields: f.Fields}
}

// fingerprints are those that a start of s is made with.
func fingerprints(s *plan.Session) session.Fingerprints {
	return session.Fingerprints{Core: s.Core, Provision: s.Provision, Launch: s.Launch, Live: s.Live, Fields: s.Fields}
}

// The words of client.Agent.Activity.
const (
	activityReady   = "ready"
	activityBusy    = "busy"
	activityIdle    = "idle"
	activityWaiting = "waiting"
	activityUnknown = "unknown"
)

// setStatus takes over the agent's own words, "status=WORD" with or without
// further fields, or the word alone. A word that is not known says nothing.
func (e *entry) setStatus(words string) {
	first, _, _ := strings.Cut(words, ";")
	word := strings.TrimPrefix(first, "status=")
	e.activity, e.source = "", ""
	switch word {
	case activityReady, activityBusy, activityIdle, activityWaiting:
		e.activity = word
	case "working":
		e.activity = activityBusy
	case "blocked":
		e.activity = activityWaiting
	case "done":
		e.activity = activityIdle
	default:
		return
	}
	e.source = "terminal status"
}
