package guard

import (
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"gascity/internal/domain/session"
	"gascity/worker"
)

// RuleUnrecorded is the rule of a call that is denied because it cannot be recorded.
const RuleUnrecorded = "unrecorded"

// EvaluatorOptions configures an [Evaluator]. All fields are required.
type EvaluatorOptions struct {
	Record  io.Writer           // receives calls as lines of JSON, with complete lines in each write
	Conceal func(string) string // removes the values of credentials from a text
	Logger  *slog.Logger
	Now     func() time.Time
	// Fault returns why decisions cannot be recorded now; nil if they can. While they cannot, only
	// tools that only read are allowed. Fault must not block.
	Fault func() error
}

// Evaluator decides about calls by the current rules and records its decisions. Safe for
// concurrent use.
type Evaluator struct {
	opts   EvaluatorOptions
	rules  atomic.Pointer[CityRules]
	record *auditLog
}

// NewEvaluator returns an evaluator without rules, which denies every call. Close it with
// [Evaluator.Close].
func NewEvaluator(opts EvaluatorOptions) *Evaluator {
	return &Evaluator{opts: opts, record: newAuditLog(opts)}
}

// Close waits until all decisions are written. Call it once, after the last request.
func (j *Evaluator) Close() { j.record.close() }

// SetRules replaces the current rules.
func (j *Evaluator) SetRules(r *CityRules) { j.rules.Store(r) }

// Rules returns the current rules; nil before the first [Evaluator.SetRules].
func (j *Evaluator) Rules() *CityRules { return j.rules.Load() }

// AskTimeout returns how long a person may take to allow a call; zero without rules.
func (j *Evaluator) AskTimeout() time.Duration {
	if r := j.rules.Load(); r != nil {
		return r.asking
	}
	return 0
}

// Regime returns the guard settings of the current rules. Without rules the guard is on, so that
// no agent gets work before the settings are known.
func (j *Evaluator) Regime() Regime {
	if r := j.rules.Load(); r != nil {
		return r.regime
	}
	return Regime{On: true}
}

// Readers returns the tools that only read, which a session may use while no decision can be made,
// and the texts that their input must not contain, see [Policy.Readers].
func (j *Evaluator) Readers(v session.Snapshot) (tools, except []string) {
	r := j.rules.Load()
	if r == nil {
		return nil, nil
	}
	return r.readers(v.Agent)
}

// Evaluate decides about a call of a session. If the guard itself fails, the call is denied.
func (j *Evaluator) Evaluate(v session.Snapshot, c worker.Call) (verdict Verdict) {
	defer func() {
		if fault := recover(); fault != nil {
			j.opts.Logger.Error("the guard failed; the call was denied", "tool", c.Tool, "fault", fault)
			verdict = Verdict{Action: Deny, Reason: "the guard failed while it checked this call"}
		}
	}()
	r := j.rules.Load()
	switch {
	case r == nil:
		return Verdict{Action: Deny, Reason: "the rules are not loaded yet"}
	case !r.on:
		return Verdict{Action: Allow}
	}
	req, verdict := r.decide(v.Agent, c)
	if fault := j.opts.Fault(); fault != nil && verdict.Action != Deny && !r.isReadOnly(v.Agent, c) {
		return Verdict{Action: Deny, Rule: RuleUnrecorded, Reason: "calls cannot be recorded, so only tools that only read are allowed: " + fault.Error()}
	}
	j.record.enqueue(Call{At: j.opts.Now().UTC(), Session: v.Session, Request: req, Verdict: verdict}) // a failure to record does not change the decision
	return verdict
}
