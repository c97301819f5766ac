package workers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/worker"
)

// The states of the guard of a session, see [Engine.GuardOf].
const (
	Guarded   = "guarded"   // the worker has asked the guard at least once
	Unguarded = "unguarded" // the worker has not asked the guard yet
	Bypassed  = "bypassed"  // a tool ran although it was not allowed
)

// GuardOf returns the guard state of a session and a detail for people. Both are empty if the guard
// is off or the session does not run.
func (e *Engine) GuardOf(name string) (word, detail string) {
	if !e.opts.Regime().On {
		return "", ""
	}
	a := e.runOf(name)
	if a == nil {
		return "", ""
	}
	a.mu.Lock()
	bypass, proved, partly := a.bypass, a.proved, a.partly
	a.mu.Unlock()
	switch {
	case bypass != "":
		return Bypassed, bypass
	case proved:
		return Guarded, ""
	}
	return Unguarded, e.unguardedReason(a.agent, partly)
}

// unguardedReason returns why the session of an agent counts as unguarded, for people. partly is true if its worker has asked the
// guard, but only about some tools.
func (e *Engine) unguardedReason(agent string, partly bool) string {
	switch {
	case partly:
		return detailPartly
	case e.opts.Hookless(agent):
		return guard.DetailHookless
	}
	return detailUnguarded
}

const (
	detailUnguarded = "unguarded: it has not shown yet that it asks gc before it uses a tool"
	detailPartly    = "unguarded: only what the agent asks for by its protocol is judged, and it may use tools that it does not ask for"
	remedyUnguarded = "; unguarded = \"report\" in [guard] gives it prompts anyway"
)

// PromptHold returns why the guard holds back the prompts of a session, or an empty string if it
// does not. It holds them until the running instance has proved that the guard is asked about its
// tool calls; some hooks prove that only partly. PromptHold does not block.
func (e *Engine) PromptHold(v session.Snapshot) string {
	if r := e.opts.Regime(); !r.On || r.Lenient || !v.Running || v.Token == "" {
		return ""
	}
	partly := false
	if a := e.runOf(v.Session); a != nil && a.instance == v.Token {
		a.mu.Lock()
		proved := a.proved
		partly = a.partly
		a.mu.Unlock()
		if proved {
			return ""
		}
	}
	return e.unguardedReason(v.Agent, partly) + remedyUnguarded
}

// allowance returns a signed list of the tools that the worker may use without asking while the
// city does not answer; nil if there are none. It is signed with the worker's token.
func (e *Engine) allowance(a *liveRun) *worker.Allowance {
	v, err := e.opts.City.Snapshot(a.session)
	if err != nil {
		return nil
	}
	tools, except := e.opts.Readers(v)
	if len(tools) == 0 {
		return nil
	}
	_, told := a.generations()
	until := e.opts.Now().Add(worker.AllowanceLife).UTC().Truncate(time.Second)
	s := worker.Allowance{RunID: a.id, Until: until, Tools: tools, Except: except}.Sign(session.WorkerToken(a.instance, told))
	return &s
}

// recordGuardUse records that the worker has asked the guard about a tool call, so the session
// counts as guarded. c.Partial means that it asks only about some tools; then the session stays
// unguarded.
func (e *Engine) recordGuardUse(a *liveRun, c worker.Call) {
	a.mu.Lock()
	first := !a.proved && (!c.Partial || !a.partly)
	a.proved, a.partly = a.proved || !c.Partial, a.partly || c.Partial
	proved := a.proved
	a.mu.Unlock()
	if first {
		e.opts.City.Sense(a.session)
		if proved {
			e.opts.Ready(a.session)
		}
		e.saveMemory(a)
	}
}

// ranUnallowedLocked reports whether the tool call with this ID ran although the guard's question
// about it was still open, which bypasses the guard. That question is then closed. The result is
// false if the agent CLI showed the same question in its terminal: a person answered it there.
func (a *liveRun) ranUnallowedLocked(call string) bool {
	at := slices.IndexFunc(a.asked, func(q *question) bool { return q.guard && q.call == call && !q.ended })
	if at < 0 {
		return false
	}
	q := a.asked[at]
	if q.answer != nil && q.answer.Option == optionAllow {
		return false
	}
	q.ended = true
	if q.duplicate {
		return false
	}
	q.ran = true
	a.ran.Add(call)
	return true
}

// handleBypass records that a tool ran although it was not allowed, and queues the session for
// enforcement if the city's settings require it.
func (e *Engine) handleBypass(a *liveRun, call worker.ToolCall) {
	reason := fmt.Sprintf("the guard was bypassed: %s ran at %s although it was not allowed", truncateToolName(call.Name), e.opts.Now().UTC().Format(time.RFC3339))
	a.mu.Lock()
	a.bypass = reason
	a.mu.Unlock()
	act := cmp.Or(e.opts.Regime().OnBypass, guard.BypassStop)
	if act == guard.BypassReport {
		return
	}
	select {
	case e.violations <- violation{a, reason, act}:
	default:
		e.opts.Logger.Error("too many sessions bypass the guard at once: one keeps running", "session", a.session)
	}
}

// violation is a guard bypass that is queued for enforcement.
type violation struct {
	run    *liveRun
	reason string
	act    guard.Bypass
}

const (
	maxViolations   = 256
	enforceTimeout  = 30 * time.Second
	enforceAttempts = 3 // times
)

// enforce asks the city to stop or interrupt an instance that bypassed the guard. It tries at most
// [enforceAttempts] times, within [enforceTimeout] in all.
func (e *Engine) enforce(ctx context.Context, c violation) {
	ctx, cancel := context.WithTimeout(ctx, enforceTimeout)
	defer cancel()
	for range enforceAttempts {
		err := e.opts.Enforce(ctx, c.run.session, session.PublicInstance(c.run.instance), c.reason, c.act)
		if err == nil {
			e.opts.Logger.Warn("a session bypassed the guard, and the configured action was taken", "session", c.run.session, "act", c.act)
			return
		}
		e.opts.Logger.Error("a session bypassed the guard, and the configured action failed", "session", c.run.session, "act", c.act, "error", err)
	}
}

const maxToolName = 64

// truncateToolName returns at most maxToolName bytes of a tool's name.
func truncateToolName(name string) string { return name[:min(len(name), maxToolName)] }
