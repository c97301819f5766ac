package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"gascity/internal/event"
	"gascity/internal/guard"
	"gascity/runtime"
	"gascity/worker"
)

// Authorize keeps the contract of workerapi.Guard. A question to a person is waited
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
	verdict := e.judge(a, c)
	took := time.Since(began)
	d := worker.Decision{Allowed: verdict.Action == guard.Allow, Effect: effectOf(verdict.Action), Rule: verdict.Rule, Reason: verdict.Reason}
	if verdict.Action == guard.Ask {
		d = e.ask(ctx, a, c, verdict)
	}
	sum := sha256.Sum256(c.Input)
	e.record(a, event.WorkerAuthorize, d, map[string]string{
		"tool": c.Tool, "action": string(verdict.Action), "rule": verdict.Rule, "input": hex.EncodeToString(sum[:]),
		"microseconds": strconv.FormatInt(took.Microseconds(), 10),
	})
	return d, nil
}

func effectOf(action guard.Action) worker.Effect {
	if action == guard.Allow {
		return worker.Allow
	}
	return worker.Deny
}

// judge decides by rules. What is known of the session counts, not what the caller
// says of it.
func (e *Engine) judge(a *active, c worker.Call) guard.Verdict {
	if c.Tool == worker.Canary {
		return guard.Verdict{Action: guard.Deny, Rule: worker.Canary, Reason: "the guard is live"}
	}
	if e.opts.Judge == nil {
		return guard.Verdict{Action: guard.Allow}
	}
	v, err := e.opts.City.View(a.session)
	if err != nil {
		return guard.Verdict{Action: guard.Deny, Reason: "the session is not known: " + err.Error()}
	}
	verdict := e.opts.Judge(v, c)
	if !verdict.Action.Known() {
		verdict.Action = guard.Deny
	}
	return verdict
}

// The options of a question of the guard.
const (
	optionAllow = "allow"
	optionDeny  = "deny"
)

// ask asks a person.
func (e *Engine) ask(ctx context.Context, a *active, c worker.Call, verdict guard.Verdict) worker.Decision {
	ctx, cancel := context.WithTimeout(ctx, e.opts.AskTimeout)
	defer cancel()
	deadline := e.opts.Now().Add(e.opts.AskTimeout)
	about := c.Tool
	if verdict.Part != "" {
		about += ": " + verdict.Part
	}
	a.mu.Lock()
	a.counter++
	q := a.raiseLocked(worker.Interaction{
		Event: worker.Raised, ID: "authorize-" + strconv.Itoa(a.counter), Kind: runtime.WaitPermission, Tool: c.Tool, Input: c.Input, Deadline: &deadline,
		Text:    fmt.Sprintf("May the agent use %s? %s", about, verdict.Reason),
		Options: []worker.Option{{ID: optionAllow, Label: "Allow once", Kind: "allow_once"}, {ID: optionDeny, Label: "Deny", Kind: "deny"}},
	})
	q.guard = true
	a.changeLocked()
	a.mu.Unlock()
	e.opts.City.Sense(a.session)
	answered := a.until(ctx, func() bool { return q.answer != nil })
	a.mu.Lock()
	a.resolveLocked(q.ID)
	reply := q.answer
	a.changeLocked()
	a.mu.Unlock()
	e.opts.City.Sense(a.session)
	d := worker.Decision{Effect: worker.Deny, Rule: verdict.Rule, Interaction: q.request}
	switch {
	case !answered:
		d.Reason = fmt.Sprintf("%s: nobody has allowed it within %s", verdict.Reason, e.opts.AskTimeout)
	case reply.Option == optionAllow:
		d.Allowed, d.Effect, d.Reason = true, worker.Allow, "a person has allowed it"
	default:
		d.Reason = verdict.Reason + ": a person has denied it"
	}
	return d
}
