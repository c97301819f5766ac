package runtimetest

import (
	"fmt"
	"slices"
	"sync"

	"gascity/runtime"
)

// Fake is a provider in memory. It implements the whole contract and every
// extension, passes the suite, starts no agent process, and records every call.
// Its agents are models that follow a [Behaviour]; a command that [Fake.Agent]
// did not make is an agent that behaves well and has no ledger.
//
// It is safe for concurrent use. Make one with [NewFake].
type Fake struct {
	// Shell runs PreStart, SessionSetup, SessionSetupScript, SessionLive and Exec,
	// and interprets Command. Nil runs nothing: the steps succeed. Set it before
	// the first call.
	Shell Shell

	world *fakeWorld

	mu    sync.Mutex // guards the rest
	calls []Call
	fails []failure
}

// Call is one recorded call of a [Fake].
type Call struct {
	Op   string // the method's name: "Start", "SetMeta", ...
	Name string // the session, if there is one
	Args []any  // the other arguments, without ctx
}

type failure struct {
	op, name string
	err      error
}

var (
	_ runtime.Provider                      = (*Fake)(nil)
	_ runtime.Observer                      = (*Fake)(nil)
	_ runtime.Watcher                       = (*Fake)(nil)
	_ runtime.Deliverer                     = (*Fake)(nil)
	_ runtime.Recoverer                     = (*Fake)(nil)
	_ runtime.Fencer                        = (*Fake)(nil)
	_ runtime.IdleWaitProvider              = (*Fake)(nil)
	_ runtime.DialogProvider                = (*Fake)(nil)
	_ runtime.ImmediateNudgeProvider        = (*Fake)(nil)
	_ runtime.InterruptBoundaryWaitProvider = (*Fake)(nil)
	_ runtime.InterruptedTurnResetProvider  = (*Fake)(nil)
	_ runtime.RelaunchProvider              = (*Fake)(nil)
	_ runtime.ExecProvider                  = (*Fake)(nil)
	_ runtime.ProcessTableScanner           = (*Fake)(nil)
	_ runtime.InteractionProvider           = (*Fake)(nil)
	_ runtime.ServerLifecycleProvider       = (*Fake)(nil)
	_ runtime.TransportCapabilityProvider   = (*Fake)(nil)
)

// NewFake returns a provider over an empty world, without a shell.
func NewFake() *Fake { return &Fake{world: newFakeWorld()} }

// Reopen returns another provider over the same sessions, as after a restart,
// with the same shell. It has its own calls and failures.
func (f *Fake) Reopen() *Fake { return &Fake{Shell: f.Shell, world: f.world} }

// Fail makes every later call of the method op for the session fail with err
// before it does anything; a method without an error result is not affected. An
// empty session means all, a nil err ends it.
func (f *Fake) Fail(op, session string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = slices.DeleteFunc(f.fails, func(x failure) bool { return x.op == op && x.name == session })
	if err != nil {
		f.fails = append(f.fails, failure{op, session, err})
	}
}

// Calls returns the recorded calls of the named methods, of all methods without
// a name, in their order.
func (f *Fake) Calls(ops ...string) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(c Call) bool { return len(ops) > 0 && !slices.Contains(ops, c.Op) })
}

// called records a call and returns the error that it was told to fail with.
func (f *Fake) called(op, name string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, Call{op, name, args})
	for _, x := range f.fails {
		if x.op == op && (x.name == "" || x.name == name) {
			return &runtime.Error{Op: op, Session: name, Err: x.err}
		}
	}
	return nil
}

// Capabilities claims everything.
func (f *Fake) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanReportAttachment: true, CanReportActivity: true, CanStream: true, CanAttachTTY: true}
}

// ConfigureServer does nothing.
func (f *Fake) ConfigureServer() error { return f.called("ConfigureServer", "") }

// TeardownServer does nothing.
func (f *Fake) TeardownServer() error { return f.called("TeardownServer", "") }

// SupportsTransport knows the empty transport only.
func (f *Fake) SupportsTransport(transport string) bool {
	_ = f.called("SupportsTransport", "", transport) // it has no error to fail with
	return transport == ""
}

// notFound is the error of an operation on a missing session.
func notFound(op, name string) error {
	return &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
}

func (c Call) String() string { return fmt.Sprintf("%s(%q) %v", c.Op, c.Name, c.Args) }
