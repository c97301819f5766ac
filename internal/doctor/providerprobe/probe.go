// Package providerprobe tries a runtime provider operation by operation, with one session
// of the fake agent, and says of each whether it works, is missing, or is wrong. It is
// for the author of a session script, who wants to know what to write next; the
// whole contract is package runtimetest's.
package providerprobe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// Status is what was found of one operation.
type Status string

// The statuses.
const (
	Works       Status = "works"
	Unsupported Status = "unsupported" // it is not there, and was not announced
	Wrong       Status = "wrong"       // it fails, lies, or is declared and missing
	Untried     Status = "untried"     // it could not be tried; the detail says why
)

// Finding is the result of one operation.
type Finding struct {
	Operation string // "start", "nudge", ...
	Promise   string // what was tried
	Status    Status
	Detail    string
	Took      time.Duration
}

// Subject is what is looked at.
type Subject struct {
	Provider runtime.Provider
	// Agent is the fake agent; its files are in Dir, a private folder of this machine.
	Agent runtimetest.Program
	Dir   string
	// Declared are the words of the provider's handshake that promise an operation;
	// one of these that is missing is wrong. Nil declares nothing.
	Declared []string
	// Patience is how long to wait for what ought to happen. Zero means 20 seconds.
	Patience time.Duration
	// Report gets each finding as soon as it is made.
	Report func(Finding)
}

// session is the name of the session that is tried, none that of no session.
const (
	session = "gc-check"
	none    = "gc-check-none"
	prompt  = "a prompt of gc provider check;\nwith a second line, 'quotes' and a $(word)"
)

// errUntried ends an attempt that depends on one that failed.
var errUntried = errors.New("it could not be tried")

// Run tries everything, in an order in which a session lives, and ends the session in
// any case. The error says that it could not begin.
func Run(ctx context.Context, s Subject) error {
	if s.Patience == 0 {
		s.Patience = 20 * time.Second
	}
	work := filepath.Join(s.Dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("cannot make a working directory: %w", err)
	}
	v := &probe{Subject: s, ctx: ctx, agent: s.Agent.Agent(nil, s.Dir, runtimetest.Behaviour{})}
	v.agent.Config.WorkDir = work
	v.agent.Config.Env = withToken(v.agent.Config.Env)
	defer s.Provider.Stop(session) //nolint:errcheck // the finding about stop has reported it
	for _, a := range attempts() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.Report(v.try(a))
	}
	return nil
}

// token names the one instance of the session.
const token = "gc-check-token"

func withToken(env map[string]string) map[string]string {
	out := map[string]string{"GC_INSTANCE_TOKEN": token}
	maps.Copy(out, env)
	return out
}

// probe is one run.
type probe struct {
	Subject
	ctx       context.Context //nolint:containedctx // it lives as long as the call
	agent     runtimetest.Agent
	started   bool
	delivered bool // a prompt has arrived
}

// attempt is one row of the table.
type attempt struct {
	operation, promise string
	words              []string // of the handshake that promise it
	alive              bool     // needs the session
	must               bool     // nothing runs at a provider without it
	try                func(*probe) (string, error)
}

// try makes one finding.
func (v *probe) try(a attempt) Finding {
	f := Finding{Operation: a.operation, Promise: a.promise, Status: Works}
	began := time.Now()
	var err error
	if a.alive && !v.started {
		err = fmt.Errorf("%w: no session was started", errUntried)
	} else {
		f.Detail, err = a.try(v)
	}
	f.Took = time.Since(began)
	switch {
	case err == nil:
	case errors.Is(err, errUntried):
		f.Status, f.Detail = Untried, err.Error()
	case missing(err) && a.must:
		f.Status, f.Detail = Wrong, "no session can be run without it: "+err.Error()
	case missing(err) && !v.declares(a.words):
		f.Status, f.Detail = Unsupported, err.Error()
	case missing(err):
		f.Status, f.Detail = Wrong, "declared ("+strings.Join(a.words, ", ")+") and missing: "+err.Error()
	default:
		f.Status, f.Detail = Wrong, err.Error()
	}
	return f
}

func (v *probe) declares(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(v.Declared, word) })
}

func missing(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, runtime.ErrExecUnsupported) || errors.Is(err, runtime.ErrAttachUnsupported) ||
		errors.Is(err, runtime.ErrInputUnsupported)
}

// until waits for what ought to happen.
func (v *probe) until(ok func() bool) bool {
	end := time.NewTimer(v.Patience)
	defer end.Stop()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		if ok() {
			return true
		}
		next := time.NewTimer(wait)
		select {
		case <-next.C:
		case <-end.C:
			next.Stop()
			return ok()
		case <-v.ctx.Done():
			next.Stop()
			return false
		}
	}
}

// ledger reads what the agent has recorded, as far as it does so on this machine.
func (v *probe) ledger() []runtimetest.Entry {
	data, err := os.ReadFile(v.agent.Ledger)
	if err != nil {
		return nil
	}
	entries, err := runtimetest.ParseLedger(data)
	if err != nil {
		return nil
	}
	return entries
}
