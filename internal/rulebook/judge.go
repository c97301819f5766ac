package rulebook

import (
	"encoding/json"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"gascity/internal/guard"
	"gascity/internal/session"
	"gascity/worker"
)

// Options are what a judge needs. All fields are required but Record.
type Options struct {
	Record  io.Writer           // gets each call as a line of JSON in one write; nil: none is kept
	Conceal func(string) string // takes the values of credentials out of a text
	Logger  *slog.Logger
	Now     func() time.Time
}

// Judge decides about calls by the rules in force, and keeps what it decided. It is
// safe for concurrent use.
type Judge struct {
	opts    Options
	rules   atomic.Pointer[Rules]
	failing atomic.Bool // that nothing can be kept has been said
}

// NewJudge returns a judge without rules: it denies everything.
func NewJudge(opts Options) *Judge { return &Judge{opts: opts} }

// Use puts rules in force, in the place of the former ones.
func (j *Judge) Use(r *Rules) { j.rules.Store(r) }

// AskTimeout is how long a person has, by the rules in force.
func (j *Judge) AskTimeout() time.Duration {
	if r := j.rules.Load(); r != nil {
		return r.asking
	}
	return 0
}

// Judge decides about a call of a session. A fault of the guard itself denies.
func (j *Judge) Judge(v session.View, c worker.Call) (verdict guard.Verdict) {
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
	j.keep(v, req, verdict)
	return verdict
}

// MaxInput bounds the input of a call that is kept.
const MaxInput = 64 << 10

// keep writes a call down. That it cannot be kept changes nothing of what was decided.
func (j *Judge) keep(v session.View, req guard.Request, verdict guard.Verdict) {
	if j.opts.Record == nil {
		return
	}
	call := guard.Call{At: j.opts.Now().UTC(), Session: v.Session, Request: req, Verdict: verdict}
	call.Reason, call.Part = j.opts.Conceal(call.Reason), j.opts.Conceal(call.Part)
	call.Input, call.Cut = j.discreet(req.Input)
	line, err := json.Marshal(call)
	if err == nil {
		_, err = j.opts.Record.Write(append(line, '\n'))
	}
	switch {
	case err == nil:
		j.failing.Store(false)
	case !j.failing.Swap(true):
		j.opts.Logger.Warn("calls of tools are not kept for gc guard replay", "error", err)
	}
}

// discreet returns an input without the values of credentials. One that is too long
// or no JSON is left out.
func (j *Judge) discreet(input json.RawMessage) (kept json.RawMessage, cut bool) {
	var value any
	switch {
	case len(input) == 0:
		return nil, false
	case len(input) > MaxInput, json.Unmarshal(input, &value) != nil:
		return nil, true
	}
	kept, err := json.Marshal(j.concealed(value))
	return kept, err != nil
}

// concealed is a JSON value without the values of credentials.
func (j *Judge) concealed(value any) any {
	switch v := value.(type) {
	case string:
		return j.opts.Conceal(v)
	case []any:
		for i := range v {
			v[i] = j.concealed(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, one := range v {
			out[j.opts.Conceal(name)] = j.concealed(one)
		}
		return out
	}
	return value
}
