package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/internal/retry"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// probeSubject is the provider to try.
type probeSubject struct {
	Provider runtime.Provider
	// Agent is the fake agent. Its files are in Dir, a private directory on this machine.
	Agent runtimetest.Program
	Dir   string
	// Declared are the words of the provider's handshake. Each promises an operation: a missing
	// operation that is declared is wrong. Nil declares nothing.
	Declared []string
	// Patience is how long to wait for an expected result. Zero means 20 seconds.
	Patience time.Duration
	// Report receives each result at once.
	Report func(CheckResult)
}

// probeSession is the name of the session that is tried; none is the name of a session that does not
// exist.
const (
	probeSession   = "gc-check"
	probeNoSession = "gc-check-none"
	probePrompt    = "a prompt of gc provider check;\nwith a second line, 'quotes' and a $(word)"
)

// errUntried means that an attempt depends on another one that failed.
var errUntried = errors.New("it could not be tried")

// runProbe tries all operations in the order of a session's life, and always stops the session. It
// returns an error if it could not start or if ctx ended.
func runProbe(ctx context.Context, s probeSubject) error {
	s.Patience = cmp.Or(s.Patience, 20*time.Second)
	work := filepath.Join(s.Dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("cannot make a working directory: %w", err)
	}
	v := &probe{probeSubject: s, ctx: ctx, agent: s.Agent.Agent(nil, s.Dir, runtimetest.Behaviour{})}
	v.agent.Config.WorkDir = work
	v.agent.Config.Env = withToken(v.agent.Config.Env)
	defer s.Provider.Stop(probeSession) //nolint:errcheck // the finding about stop reports it
	for _, a := range probeAttempts() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.Report(v.try(a))
	}
	return nil
}

// probeToken is the instance token of the session.
const probeToken = "gc-check-token"

// withToken returns a copy of an environment with the instance token of the check.
func withToken(env map[string]string) map[string]string {
	out := map[string]string{"GC_INSTANCE_TOKEN": probeToken}
	maps.Copy(out, env)
	return out
}

// probe is the state of one Run.
type probe struct {
	probeSubject
	ctx       context.Context //nolint:containedctx // of the one call of Run
	agent     runtimetest.Agent
	started   bool
	delivered bool // the agent received a prompt
}

// probeAttempt is one operation to try, with one requirement.
type probeAttempt struct {
	operation, promise string
	capabilities       []string // the capabilities that declare the operation in the handshake
	alive              bool     // needs the running session
	must               bool     // no session can run without it
	try                func(*probe) (string, error)
}

// try runs one attempt on the runtime provider and returns its result. An operation counts as skipped if the provider lacks it and
// does not declare it (unsupported), or if there is no session for it (untried). If the provider lacks an operation that is
// required or declared, the attempt fails.
func (v *probe) try(a probeAttempt) CheckResult {
	r := CheckResult{ID: a.operation, Sentence: a.promise, Result: CheckPass}
	began := time.Now()
	var err error
	if a.alive && !v.started {
		err = fmt.Errorf("%w: no session was started", errUntried)
	} else {
		r.Detail, err = a.try(v)
	}
	r.Took = time.Since(began).Round(time.Millisecond)
	switch {
	case err == nil:
	case errors.Is(err, errUntried):
		r.Result, r.Detail = CheckSkip, "untried: "+err.Error()
	case isMissingOperation(err) && a.must:
		r.Result, r.Detail = CheckFail, "no session can be run without it: "+err.Error()
	case isMissingOperation(err) && !v.declares(a.capabilities):
		r.Result, r.Detail = CheckSkip, "unsupported: "+err.Error()
	case isMissingOperation(err):
		r.Result, r.Detail = CheckFail, "declared ("+strings.Join(a.capabilities, ", ")+") and missing: "+err.Error()
	default:
		r.Result, r.Detail = CheckFail, err.Error()
	}
	return r
}

// declares reports whether the provider declares one of the capabilities.
func (v *probe) declares(capabilities []string) bool {
	return slices.ContainsFunc(capabilities, func(c string) bool { return slices.Contains(v.Declared, c) })
}

// isMissingOperation reports whether an error means that an operation is not supported.
func isMissingOperation(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, runtime.ErrExecUnsupported) || errors.Is(err, runtime.ErrAttachUnsupported) ||
		errors.Is(err, runtime.ErrInputUnsupported)
}

// until waits until ok returns true and reports whether it did. It gives up after Patience or at
// the end of ctx.
func (v *probe) until(ok func() bool) bool {
	ctx, cancel := context.WithTimeout(v.ctx, v.Patience)
	defer cancel()
	for delay := retry.New(10*time.Millisecond, 250*time.Millisecond); !ok(); {
		if !delay.Wait(ctx) {
			return v.ctx.Err() == nil && ok()
		}
	}
	return true
}

// ledger returns what the agent has recorded; nil if there is no record on this machine.
func (v *probe) ledger() []runtimetest.Entry {
	var entries []runtimetest.Entry
	data, err := os.ReadFile(v.agent.Ledger)
	if err == nil {
		entries, err = runtimetest.ParseLedger(data)
	}
	if err != nil {
		return nil
	}
	return entries
}
