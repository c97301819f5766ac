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

// Authorize decides whether the worker of a run may make a tool call, by the city's rules. If the
// rules require a person, it waits for the answer, and denies the call if none arrives in time. It
// implements workerapi.Guard.
func (e *Engine) Authorize(ctx context.Context, id string, c worker.Call) (worker.Decision, error) {
	began := time.Now()
	a, err := e.runByID(id)
	if err != nil {
		return worker.Decision{}, err
	}
	if c.Tool == "" {
		return worker.Decision{}, fmt.Errorf("%w: tool is missing", worker.ErrInvalid)
	}
	e.recordGuardUse(a, c)
	verdict := e.judge(a, c)
	if c.Ask && verdict.Action == guard.Allow && verdict.Rule == "" {
		verdict.Action, verdict.Reason = guard.Ask, "The agent's own rules want a person to be asked"
	}
	took := time.Since(began)
	d := worker.Decision{Effect: worker.Deny, Rule: verdict.Rule, Reason: verdict.Reason}
	answered := true
	switch verdict.Action {
	case guard.Allow:
		d.Allowed, d.Effect = true, worker.Allow
	case guard.Ask:
		d, answered = e.ask(ctx, a, c, verdict)
	case guard.Deny:
	}
	if answered || !c.Ask { // a person may have allowed the call in the agent CLI's own dialog
		a.applyDecision(c, d)
	}
	e.recordDecision(ctx, a, c, d, verdict, took)
	if c.Allowance {
		d.Allowance = e.allowance(a)
	}
	return d, nil
}

// recordDecision appends the decision about a tool call to the event log.
func (e *Engine) recordDecision(ctx context.Context, a *liveRun, c worker.Call, d worker.Decision, verdict guard.Verdict, took time.Duration) {
	sum := sha256.Sum256(c.Input)
	var input [2 * sha256.Size]byte
	hex.Encode(input[:], sum[:])
	e.record(ctx, a, event.WorkerAuthorize, d, map[string]string{
		"tool": c.Tool, "action": string(verdict.Action), "rule": verdict.Rule, "input": string(input[:]),
		"microseconds": strconv.FormatInt(took.Microseconds(), 10),
	})
}

// judge returns the verdict of the city's rules about a tool call. What the rules need to know
// about the session comes from the city and not from the caller, which could send false data.
func (e *Engine) judge(a *liveRun, c worker.Call) guard.Verdict {
	if c.Tool == worker.Canary {
		return guard.Verdict{Action: guard.Deny, Rule: worker.Canary, Reason: "the guard is live"}
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

// The IDs of the options of a guard question.
const (
	optionAllow = "allow"
	optionDeny  = "deny"
)

// applyDecision records the decision d about a tool call in the run: as progress of the turn and,
// if the call was denied, by the call's ID. If a denied call runs later, the guard was bypassed.
func (a *liveRun) applyDecision(c worker.Call, d worker.Decision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastReport = a.engine.opts.Now()
	if d.Allowed && !c.Ask {
		a.recordToolStartLocked(c, a.lastReport)
	} else {
		a.recordProgressLocked("a call of the tool "+c.Tool, a.lastReport)
		if !d.Allowed {
			a.progress.tools = slices.DeleteFunc(a.progress.tools, func(t toolCall) bool { return t.id == c.ID })
		}
	}
	switch {
	case c.ID == "", a.ran.Remove(c.ID): // this bypass was already reported
	case d.Allowed:
		a.denied.Remove(c.ID)
	default:
		a.denied.Add(c.ID)
	}
}

// askTimeout returns how long to wait for a person's answer about a tool call: the configured time,
// or less if the worker's own limit c.Wait is shorter.
func (e *Engine) askTimeout(c worker.Call) time.Duration {
	timeout := cmp.Or(e.opts.AskTimeout(), time.Minute)
	if c.Wait > 0 && c.Wait < worker.Seconds(timeout/time.Second) {
		return time.Duration(c.Wait) * time.Second
	}
	return timeout
}

// ask asks a person whether a tool call is allowed, and waits for the answer. d is a denial if none
// arrives in time. answered is false if d is not the person's answer: the question could not be
// asked, was not answered, or was answered in the agent CLI's own dialog.
func (e *Engine) ask(ctx context.Context, a *liveRun, c worker.Call, verdict guard.Verdict) (d worker.Decision, answered bool) {
	wait := e.askTimeout(c)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	d = worker.Decision{Effect: worker.Deny, Rule: verdict.Rule}
	q := a.askPerson(c, verdict, e.opts.Now().Add(wait))
	if q == nil {
		d.Reason = verdict.Reason + ": a person has to allow it, and too many questions are open already"
		return d, false
	}
	e.opts.City.Sense(a.session)
	a.waitUntil(ctx, func() bool { return q.answer != nil || q.ended })
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

// askPerson opens a question of the guard about a tool call and returns it. It returns nil if too
// many questions are open.
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
	// The request ID is random: it must differ from the request IDs that a previous controller
	// used.
	q := &question{guard: true, duplicate: c.Ask, call: c.ID, dir: c.Context["cwd"], request: a.requestOf("authorize " + rand.Text()), Interaction: worker.Interaction{
		RunID: a.id, Event: worker.Raised, Kind: runtime.WaitPermission, Tool: c.Tool, Input: c.Input, Deadline: &deadline,
		Text:    fmt.Sprintf("May the agent use %s? %s", about, verdict.Reason),
		Options: []worker.Option{{ID: optionAllow, Label: "Allow once", Kind: "allow_once"}, {ID: optionDeny, Label: "Deny", Kind: "deny"}},
	}}
	a.asked = append(a.asked, q)
	a.changeLocked()
	return q
}
