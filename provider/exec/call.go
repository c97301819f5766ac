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

// ScriptError says how a call of the script failed. It never has the script's input
// or standard output in it.
type ScriptError struct {
	Script string // as it was selected
	Op     string // the operation
	Code   int    // the exit code, -1 if there is none
	Stderr string // the end of its standard error, without lines for gc
	Err    error  // the sentinel of the contract, or why it was killed; nil if unknown
}

func (e *ScriptError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "script %s %s", e.Script, e.Op)
	switch {
	case e.Code == script.ExitMissing && errors.Is(e.Err, errors.ErrUnsupported):
		b.WriteString(": it does not implement the operation (exit code 2)")
	case e.Err != nil:
		fmt.Fprintf(&b, ": %v", e.Err)
	case e.Code >= 0:
		fmt.Fprintf(&b, ": exit code %d", e.Code)
	default:
		b.WriteString(": a signal ended it")
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
	verb  string // of the error; empty means op
	plain bool   // exit codes are the caller's business, as of exec
}

// reply is what a call that succeeded brought.
type reply struct {
	processResult
	missing bool // exit code 2, where it is harmless
}

const (
	mostOutput = 4 << 20  // of standard output
	mostText   = 32 << 20 // of peek and exec
	killGrace  = 2 * time.Second
	startGrace = 10 * time.Second // for a script that cleans up
)

// call runs one operation and makes of its end what the contract says.
func (p *Provider) call(ctx context.Context, q request) (reply, error) {
	row, ok := script.Lookup(q.op)
	if !ok || row.Needs != "" && !p.caps.Has(row.Needs) {
		return reply{}, p.failure(q, &ScriptError{Script: p.cfg.Script, Op: q.op, Code: script.ExitMissing, Err: unsupported(q.op)})
	}
	slots := p.quick
	if isLong(q.op) {
		slots = p.long
	}
	if err := slots.acquire(ctx); err != nil {
		return reply{}, p.failure(q, fmt.Errorf("%w: %w", errNotRun, err))
	}
	defer slots.release()
	e, err := p.run(ctx, p.processSpec(q, row))
	switch {
	case err != nil:
		return reply{processResult: e}, p.failure(q, &ScriptError{Script: p.cfg.Script, Op: q.op, Code: -1, Stderr: strings.TrimSpace(e.stderr), Err: err})
	case e.code == script.ExitOK || q.plain:
		return reply{processResult: e}, nil
	case e.code == script.ExitMissing && row.Missing == script.Harmless:
		return reply{missing: true}, nil
	}
	return reply{processResult: e}, p.failure(q, p.exitError(q.op, e))
}

// exitError returns the error of a script that has exited with another code than 0.
func (p *Provider) exitError(op string, e processResult) *ScriptError {
	se := &ScriptError{Script: p.cfg.Script, Op: op, Code: e.code}
	se.Stderr, se.Err = script.ParseFailure(e.stderr)
	if e.code == script.ExitMissing {
		se.Err = unsupported(op)
	}
	return se
}

// failure names operation and session.
func (p *Provider) failure(q request, err error) error {
	return &runtime.Error{Op: cmp.Or(q.verb, q.op), Session: q.name, Err: err}
}

// processSpec returns the process of a request.
func (p *Provider) processSpec(q request, row script.Operation) processSpec {
	o := processSpec{
		args: append([]string{q.op}, q.args...), stdin: q.stdin,
		limit: p.cfg.Limit, most: mostOutput, grace: killGrace, alone: row.Reads,
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
		o.most = mostText
	case script.OpProtocol:
		o.limit = p.cfg.Handshake
	}
	return o
}

func isLong(op string) bool {
	switch op {
	case script.OpStart, script.OpProvision, script.OpDeliver, script.OpSettle, script.OpNudge, script.OpExec, script.OpRunLive, script.OpStop, script.OpStopInstance:
		return true
	}
	return false
}

// unsupported is the sentinel of an operation that the script does not have.
func unsupported(op string) error {
	switch op {
	case script.OpAttach:
		return &missingError{runtime.ErrAttachUnsupported}
	case script.OpExec:
		return &missingError{runtime.ErrExecUnsupported}
	}
	return errors.ErrUnsupported
}

// missingError is a sentinel of the contract that is errors.ErrUnsupported, too.
type missingError struct{ sentinel error }

func (e *missingError) Error() string { return e.sentinel.Error() }

func (e *missingError) Is(target error) bool {
	return target == e.sentinel || target == errors.ErrUnsupported
}

// isMissing reports whether err says that the script does not have the operation.
func isMissing(err error) bool {
	se, ok := errors.AsType[*ScriptError](err)
	return ok && se.Code == script.ExitMissing && errors.Is(se, errors.ErrUnsupported)
}

// slots bounds how many scripts run at a time.
type slots chan struct{}

func (s slots) acquire(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s slots) release() { <-s }

// locks are mutual exclusion for each session. The zero value is useful.
type locks struct {
	mu        sync.Mutex
	bySession map[string]*lock
}

type lock struct {
	slot chan struct{}
	refs int
}

// acquire waits for the session's lock, first come first served; release gives it back.
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
