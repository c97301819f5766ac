package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"gascity/internal/driver/script"
	"gascity/runtime"
)

// ScriptError reports a failed call of the script. It never contains the script's input or standard
// output.
type ScriptError struct {
	Script string // name of the script in the selection
	Op     string // operation
	Code   int    // exit code; -1 if there is none
	Stderr string // end of the standard error, without the lines that gc parses
	Err    error  // sentinel of the contract, or the reason why gc killed the script; nil if unknown
}

func (e *ScriptError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "script %s %s", e.Script, e.Op)
	switch {
	case isMissing(e):
		b.Reset()
		fmt.Fprintf(&b, "script %s does not implement %s (exit code %d)", e.Script, e.Op, e.Code)
	case e.Err != nil:
		fmt.Fprintf(&b, ": %v", e.Err)
	case e.Code >= 0:
		fmt.Fprintf(&b, ": exit code %d", e.Code)
	default:
		b.WriteString(": it was killed by a signal")
	}
	if e.Stderr != "" {
		b.WriteString(": " + e.Stderr)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ScriptError) Unwrap() error { return e.Err }

// request is one call of an operation.
type request struct {
	op    string
	name  string
	args  []string
	stdin []byte
	verb  string // operation name in errors; empty means op
	plain bool   // exit codes are results and not errors, as for exec
}

// reply is the result of a successful call.
type reply struct {
	processResult
	missing bool // the script does not have the operation (exit code 2), and nothing is lost by that
}

const (
	maxOutput  = 4 << 20          // maximum of standard output, in bytes
	maxText    = 32 << 20         // maximum for peek and exec, in bytes
	killGrace  = 2 * time.Second  // time between SIGTERM and SIGKILL
	startGrace = 10 * time.Second // the same for a start by a script that cleans up
)

// call runs one operation and returns its result as the contract requires.
func (p *Provider) call(ctx context.Context, q request) (reply, error) {
	row, ok := script.Lookup(q.op)
	if !ok || row.Needs != "" && !p.caps.Has(row.Needs) {
		return reply{}, p.failure(q, &ScriptError{Script: p.cfg.Script, Op: q.op, Code: script.ExitMissing, Err: unsupported(q.op)})
	}
	slots := p.quick
	if isLong(q.op) {
		slots = p.long
	}
	if slots.Acquire(ctx, 1) != nil {
		return reply{}, p.failure(q, fmt.Errorf("%w: %w", errNotRun, context.Cause(ctx)))
	}
	defer slots.Release(1)
	e, err := p.run(ctx, p.processSpec(q, row))
	switch {
	case err != nil:
		return reply{processResult: e}, p.failure(q, &ScriptError{Script: p.cfg.Script, Op: q.op, Code: -1, Stderr: strings.TrimSpace(e.stderr), Err: err})
	case e.code == script.ExitOK || q.plain:
		return reply{processResult: e}, nil
	case e.code == script.ExitMissing && row.Harmless:
		return reply{missing: true}, nil
	}
	return reply{processResult: e}, p.failure(q, p.exitError(q.op, e))
}

// exitError returns the error of a script that exited with a code other than 0.
func (p *Provider) exitError(op string, e processResult) *ScriptError {
	se := &ScriptError{Script: p.cfg.Script, Op: op, Code: e.code}
	se.Stderr, se.Err = script.ParseFailure(e.stderr)
	if e.code == script.ExitMissing {
		se.Err = unsupported(op)
	}
	return se
}

// failure adds operation and session to err.
func (p *Provider) failure(q request, err error) error {
	return &runtime.Error{Op: cmp.Or(q.verb, q.op), Session: q.name, Err: err}
}

// processSpec returns how to run the script for a request: its arguments, environment, standard input, time limit and
// limit of output.
func (p *Provider) processSpec(q request, row script.Operation) processSpec {
	o := processSpec{
		args: append([]string{q.op}, q.args...), stdin: q.stdin,
		limit: p.cfg.Limit, most: maxOutput, grace: killGrace, alone: row.Reads,
	}
	if q.op != script.OpProtocol && q.op != script.OpWatch {
		o.args = append([]string{q.op, q.name}, q.args...)
	}
	switch q.op {
	case script.OpStart, script.OpProvision:
		o.limit = p.cfg.StartLimit
		if p.caps.Has(script.CapSequence) {
			o.grace = startGrace
		}
	case script.OpDeliver, script.OpSettle:
		o.limit = p.cfg.StartLimit
	case script.OpPeek, script.OpExec:
		o.most = maxText
	case script.OpProtocol:
		o.limit = p.cfg.Handshake
	}
	return o
}

// isLong reports whether an operation may wait for the agent or for its commands, so it gets the long time limit.
func isLong(op string) bool {
	switch op {
	case script.OpStart, script.OpProvision, script.OpDeliver, script.OpSettle, script.OpNudge, script.OpExec, script.OpRunLive, script.OpStop, script.OpStopInstance:
		return true
	}
	return false
}

// unsupported returns the error of an operation that the script does not have.
func unsupported(op string) error {
	switch op {
	case script.OpAttach:
		return &missingError{runtime.ErrAttachUnsupported}
	case script.OpExec:
		return &missingError{runtime.ErrExecUnsupported}
	}
	return errors.ErrUnsupported
}

// missingError is a sentinel of the contract that also matches errors.ErrUnsupported.
type missingError struct{ sentinel error }

func (e *missingError) Error() string { return e.sentinel.Error() }

func (e *missingError) Is(target error) bool {
	return target == e.sentinel || target == errors.ErrUnsupported
}

// isMissing reports whether err means that the script does not have the operation.
func isMissing(err error) bool {
	se, ok := errors.AsType[*ScriptError](err)
	return ok && se.Code == script.ExitMissing && errors.Is(se, errors.ErrUnsupported)
}

// locks is a mutex for each session. The zero value is ready to use.
type locks struct {
	mu        sync.Mutex
	bySession map[string]*lock
}

type lock struct {
	slot chan struct{}
	refs int
}

// acquire waits for the session's lock, in the order of the calls. The caller must call release.
func (l *locks) acquire(ctx context.Context, name string) (release func(), err error) {
	l.mu.Lock()
	if l.bySession == nil {
		l.bySession = map[string]*lock{}
	}
	one := l.bySession[name]
	if one == nil {
		one = &lock{slot: make(chan struct{}, 1)}
		l.bySession[name] = one
	}
	one.refs++
	l.mu.Unlock()
	forget := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.refs--; one.refs == 0 {
			delete(l.bySession, name)
		}
	}
	select {
	case one.slot <- struct{}{}:
		return func() { <-one.slot; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, context.Cause(ctx)
	}
}
