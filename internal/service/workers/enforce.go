package workers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/domain/workerrun"
	"gascity/internal/guard"
	"gascity/worker"
)

// The words of what is known of the guard of a session.
const (
	Guarded   = "guarded"   // its worker has asked at least once
	Unguarded = "unguarded" // it has not
	Bypassed  = "bypassed"  // a tool ran although it was not allowed
)

// regime returns what the city wants of its guard.
func (e *Engine) regime() guard.Regime {
	if e.opts.Regime == nil {
		return guard.Regime{}
	}
	return e.opts.Regime()
}

// GuardOf says in one of the words above what is known of the guard of a session, and
// more of it for people; empty if nothing is guarded or the session does not run.
func (e *Engine) GuardOf(name string) (word, detail string) {
	if !e.regime().On {
		return "", ""
	}
	a := e.of(name)
	if a == nil {
		return "", ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.bypass != "":
		return Bypassed, a.bypass
	case a.proved:
		return Guarded, ""
	}
	return Unguarded, a.unguardedReasonLocked()
}

// unguardedReasonLocked returns why a session is unguarded.
func (a *liveRun) unguardedReasonLocked() string {
	if a.partly {
		return detailPartly
	}
	return detailUnguarded
}

const (
	detailUnguarded = "unguarded: its worker has not shown yet that it asks before it uses a tool"
	detailPartly    = "unguarded: only what the agent asks for by its protocol is judged, and it may use tools that it does not ask for"
	remedyUnguarded = "; if it never will, unguarded = \"report\" in [guard] gives it prompts anyway"
)

// PromptHold returns why a session gets no prompts because of its guard; empty: it may have
// them. It never blocks for long.
func (e *Engine) PromptHold(v session.Snapshot) string {
	if r := e.regime(); !r.On || r.Lenient || !v.Running || v.Token == "" {
		return ""
	}
	if a := e.of(v.Session); a != nil && a.instance == v.Token {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.proved {
			return ""
		}
		return a.unguardedReasonLocked() + remedyUnguarded
	}
	return detailUnguarded + remedyUnguarded
}

// allowance returns what the worker may decide without the city for a while; nil if that is
// nothing. It is signed with the token that the worker has.
func (e *Engine) allowance(a *liveRun) *worker.Allowance {
	if e.opts.Readers == nil {
		return nil
	}
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
	s := worker.Allowance{RunID: a.id, Until: until, Tools: tools, Except: except}.Sign(workerrun.Token(a.instance, told))
	return &s
}

// proves records that the worker asks before it uses a tool: any, or those that it hears of.
func (e *Engine) proves(a *liveRun, c worker.Call) {
	a.mu.Lock()
	first := !a.proved && (!c.Partial || !a.partly)
	a.proved, a.partly = a.proved || !c.Partial, a.partly || c.Partial
	proved := a.proved
	a.mu.Unlock()
	if first {
		e.opts.City.Sense(a.session)
		if proved && e.opts.Ready != nil {
			e.opts.Ready(a.session)
		}
		e.saveMemory(a)
	}
}

// ranUnallowedLocked reports whether a call that ran is one whose question is still open: the
// hook that asked has ended, or the agent CLI did not wait for it. The question is withdrawn. A
// question that the agent CLI shows as well was answered there.
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

// bypassedBy records that a tool ran although it was not allowed, and has the city act.
func (e *Engine) bypassedBy(a *liveRun, call worker.ToolCall) {
	reason := fmt.Sprintf("the guard was bypassed: %s ran at %s although it was not allowed", brief(call.Name), e.opts.Now().UTC().Format(time.RFC3339))
	a.mu.Lock()
	a.bypass = reason
	a.mu.Unlock()
	act := cmp.Or(e.regime().OnBypass, guard.BypassStop)
	if act == guard.BypassReport || e.opts.Enforce == nil {
		return
	}
	select {
	case e.violations <- violation{a, reason, act}:
	default:
		e.opts.Logger.Error("too many sessions bypass the guard at once: one keeps running", "session", a.session)
	}
}

// violation is a bypass that the city acts on.
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

// enforce has the city act until it has, a few times.
func (e *Engine) enforce(ctx context.Context, c violation) {
	ctx, cancel := context.WithTimeout(ctx, enforceTimeout)
	defer cancel()
	for range enforceAttempts {
		err := e.opts.Enforce(ctx, c.run.session, session.PublicInstance(c.run.instance), c.reason, c.act)
		if err == nil {
			e.opts.Logger.Warn("a session that bypassed the guard was dealt with", "session", c.run.session, "act", c.act)
			return
		}
		e.opts.Logger.Error("a session that bypassed the guard could not be dealt with", "session", c.run.session, "act", c.act, "error", err)
	}
}

const maxToolName = 64

func brief(name string) string { return name[:min(len(name), maxToolName)] }
