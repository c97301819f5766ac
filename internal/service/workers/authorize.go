package workers

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/guard"
	"gascity/runtime"
	"gascity/worker"
)

// Authorize implements workerapi.Guard. A question to a person is waited
// for, and is a denial without an answer.
func (e *Engine) Authorize(ctx context.Context, id string, c worker.Call) (worker.Decision, error) {
	began := time.Now()
	a, err := e.named(id)
	if err != nil {
		return worker.Decision{}, err
	}
	if c.Tool == "" {
		return worker.Decision{}, fmt.Errorf("%w: tool is missing", worker.ErrInvalid)
	}
	e.proves(a, c)
	verdict := e.judge(a, c)
	if c.Ask && verdict.Action == guard.Allow && verdict.Rule == "" {
		verdict.Action, verdict.Reason = guard.Ask, "The agent's own rules want a person to be asked"
	}
	took := time.Since(began)
	d := worker.Decision{Allowed: verdict.Action == guard.Allow, Effect: effectOf(verdict.Action), Rule: verdict.Rule, Reason: verdict.Reason}
	answered := true
	if verdict.Action == guard.Ask {
		d, answered = e.ask(ctx, a, c, verdict)
	}
	if answered || !c.Ask { // what the agent asks a person itself may have been allowed there
		a.decided(c, d)
	}
	e.recordDecision(a, c, d, verdict, took)
	if c.Allowance {
		d.Allowance = e.allowance(a)
	}
	return d, nil
}

// recordDecision puts a decision into the city's time line.
func (e *Engine) recordDecision(a *liveRun, c worker.Call, d worker.Decision, verdict guard.Verdict, took time.Duration) {
	sum := sha256.Sum256(c.Input)
	var input [2 * sha256.Size]byte
	hex.Encode(input[:], sum[:])
	e.record(a, event.WorkerAuthorize, d, map[string]string{
		"tool": c.Tool, "action": string(verdict.Action), "rule": verdict.Rule, "input": string(input[:]),
		"microseconds": strconv.FormatInt(took.Microseconds(), 10),
	})
}

func effectOf(action guard.Action) worker.Effect {
	if action == guard.Allow {
		return worker.Allow
	}
	return worker.Deny
}

// judge decides by rules. What is known of the session counts, not what the caller
// says of it.
func (e *Engine) judge(a *liveRun, c worker.Call) guard.Verdict {
	if c.Tool == worker.Canary {
		return guard.Verdict{Action: guard.Deny, Rule: worker.Canary, Reason: "the guard is live"}
	}
	if e.opts.Judge == nil {
		return guard.Verdict{Action: guard.Allow}
	}
	v, err := e.opts.City.Snapshot(a.session)
	if err != nil {
		return guard.Verdict{Action: guard.Deny, Reason: "the session is not known: " + err.Error()}
	}
	verdict := e.opts.Judge(v, c)
	if !verdict.Action.IsValid() {
		verdict.Action = guard.Deny
	}
	return verdict
}

// The options of a question of the guard.
const (
	optionAllow = "allow"
	optionDeny  = "deny"
)

// decided remembers a call that was denied: it must not turn up among those that ran.
func (a *liveRun) decided(c worker.Call, d worker.Decision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastReport = a.engine.opts.Now()
	if d.Allowed && !c.Ask {
		a.toolStartsLocked(c, a.lastReport)
	} else {
		a.signLocked("a call of the tool "+c.Tool, a.lastReport)
		if !d.Allowed {
			a.progress.tools = slices.DeleteFunc(a.progress.tools, func(t toolCall) bool { return t.id == c.ID })
		}
	}
	switch {
	case c.ID == "", a.ran.Remove(c.ID): // its bypass is known
	case d.Allowed:
		a.denied.Remove(c.ID)
	default:
		a.denied.Add(c.ID)
	}
}

// patience returns how long a person is waited for.
func (e *Engine) patience(c worker.Call) time.Duration {
	timeout := e.opts.AskTimeout
	if e.opts.Asking != nil {
		timeout = cmp.Or(e.opts.Asking(), timeout)
	}
	if c.Wait > 0 && c.Wait < worker.Seconds(timeout/time.Second) {
		return time.Duration(c.Wait) * time.Second
	}
	return timeout
}

// ask asks a person. Without an answer the decision is a denial.
func (e *Engine) ask(ctx context.Context, a *liveRun, c worker.Call, verdict guard.Verdict) (d worker.Decision, answered bool) {
	wait := e.patience(c)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	d = worker.Decision{Effect: worker.Deny, Rule: verdict.Rule}
	q := a.askPerson(c, verdict, e.opts.Now().Add(wait))
	if q == nil {
		d.Reason = verdict.Reason + ": a person has to allow it, and too many questions stand already"
		return d, false
	}
	e.opts.City.Sense(a.session)
	a.until(ctx, func() bool { return q.answer != nil || q.ended })
	a.mu.Lock()
	reply, over, ran := q.answer, q.ended, q.ran
	a.forgetQuestionLocked(q)
	if q.duplicate {
		a.answeredUntil = e.opts.Now().Add(duplicateTimeout)
	}
	a.changeLocked()
	a.mu.Unlock()
	e.opts.City.Sense(a.session)
	d.Interaction = q.request
	switch {
	case ran:
		d.Reason = verdict.Reason + ": the tool ran before a person allowed it"
	case over:
		d.Reason = "it was answered at the agent"
	case reply == nil:
		d.Reason = fmt.Sprintf("%s: a person has to allow it, and no answer arrived within %s", verdict.Reason, wait)
	case reply.Option == optionAllow:
		d.Allowed, d.Effect, d.Reason = true, worker.Allow, "a person has allowed it"
	default:
		d.Reason = verdict.Reason + ": a person has denied it"
	}
	return d, !over && reply != nil
}

// askPerson raises a question of the guard; nil if too many stand.
func (a *liveRun) askPerson(c worker.Call, verdict guard.Verdict, deadline time.Time) *question {
	about := c.Tool
	if verdict.Part != "" {
		about += ": " + verdict.Part
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) >= maxQuestions {
		return nil
	}
	// A name that a previous controller has given to another question must not come again.
	q := &question{guard: true, duplicate: c.Ask, call: c.ID, request: a.requestOf("authorize " + rand.Text()), Interaction: worker.Interaction{
		RunID: a.id, Event: worker.Raised, Kind: runtime.WaitPermission, Tool: c.Tool, Input: c.Input, Deadline: &deadline,
		Text:    fmt.Sprintf("May the agent use %s? %s", about, verdict.Reason),
		Options: []worker.Option{{ID: optionAllow, Label: "Allow once", Kind: "allow_once"}, {ID: optionDeny, Label: "Deny", Kind: "deny"}},
	}}
	a.asked = append(a.asked, q)
	a.changeLocked()
	return q
}
