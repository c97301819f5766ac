package policy

import (
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/worker"
)

// RuleUnrecorded is the rule of a call that is denied because no record can be kept of it.
const RuleUnrecorded = "unrecorded"

// Options are what a judge needs. All fields are required but Record and Fault.
type Options struct {
	Record  io.Writer           // gets calls as lines of JSON, whole ones in each write; nil: none is kept
	Conceal func(string) string // takes the values of credentials out of a text
	Logger  *slog.Logger
	Now     func() time.Time
	// Fault says why nothing of what is decided can be recorded; nil: it can. Nothing but
	// tools that only read is allowed then. It is quick.
	Fault func() error
}

// Evaluator decides about calls by the rules in force, and keeps what it decided. It is
// safe for concurrent use.
type Evaluator struct {
	opts   Options
	rules  atomic.Pointer[Rules]
	record *auditLog // nil: none is kept
}

// NewEvaluator returns a judge without rules: it denies everything. It is closed by
// [Evaluator.Close].
func NewEvaluator(opts Options) *Evaluator {
	j := &Evaluator{opts: opts}
	if opts.Record != nil {
		j.record = newAuditLog(opts)
	}
	return j
}

// Close waits until what was decided is written down. It is called once, after the
// last request.
func (j *Evaluator) Close() {
	if j.record != nil {
		j.record.close()
	}
}

// SetRules puts rules in force, in the place of the previous ones.
func (j *Evaluator) SetRules(r *Rules) { j.rules.Store(r) }

// AskTimeout returns how long a person has, by the rules in force.
func (j *Evaluator) AskTimeout() time.Duration {
	if r := j.rules.Load(); r != nil {
		return r.asking
	}
	return 0
}

// Regime returns what the city wants of its guard, by the rules in force. As long as there
// are none it is on: no agent gets work before it is known.
func (j *Evaluator) Regime() guard.Regime {
	if r := j.rules.Load(); r != nil {
		return r.regime
	}
	return guard.Regime{On: true}
}

// Readers returns the tools that a session may use while no decision can be made,
// see [guard.Policy.Readers].
func (j *Evaluator) Readers(v session.Snapshot) (tools, except []string) {
	r := j.rules.Load()
	if r == nil {
		return nil, nil
	}
	return r.readers(v.Agent)
}

func (j *Evaluator) fault() error {
	if j.opts.Fault == nil {
		return nil
	}
	return j.opts.Fault()
}

// Evaluate decides about a call of a session. A fault of the guard itself denies.
func (j *Evaluator) Evaluate(v session.Snapshot, c worker.Call) (verdict guard.Verdict) {
	defer func() {
		if fault := recover(); fault != nil {
			j.opts.Logger.Error("the guard failed; the call was denied", "tool", c.Tool, "fault", fault)
			verdict = guard.Verdict{Action: guard.Deny, Reason: "the guard failed to judge this call"}
		}
	}()
	r := j.rules.Load()
	switch {
	case r == nil:
		return guard.Verdict{Action: guard.Deny, Reason: "the rules have not been read yet"}
	case !r.on:
		return guard.Verdict{Action: guard.Allow}
	}
	req, verdict := r.decide(v.Agent, c)
	if fault := j.fault(); fault != nil && verdict.Action != guard.Deny && !r.isReadOnly(v.Agent, c) {
		return guard.Verdict{Action: guard.Deny, Rule: RuleUnrecorded, Reason: "nothing is allowed but to read as long as it cannot be recorded: " + fault.Error()}
	}
	if j.record != nil { // that it cannot be kept changes nothing of what was decided
		j.record.enqueue(guard.Call{At: j.opts.Now().UTC(), Session: v.Session, Request: req, Verdict: verdict})
	}
	return verdict
}
