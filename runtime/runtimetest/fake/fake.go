// Package fake is a [runtime.Provider] in memory, for tests of code that uses a provider. It
// implements the whole contract and passes the suite of package runtimetest. [Faulty] wraps any
// provider and injects faults.
package fake

import (
	"fmt"
	"slices"
	"sync"

	"gascity/runtime"
)

// Provider is a provider in memory. It implements the whole contract and every extension, starts no
// agent process, and records every call. Its agents are models that follow a
// [runtimetest.Behaviour]. A command that [Provider.Agent] did not create is an agent that behaves
// well and has no ledger.
//
// It is safe for concurrent use. Use [New] to create one.
type Provider struct {
	// Shell runs PreStart, SessionSetup, SessionSetupScript, SessionLive and Exec,
	// and interprets Command. Nil runs nothing: the steps succeed. Set it before
	// the first call.
	Shell Shell

	world *world

	mu    sync.Mutex // guards the rest
	calls []Call
	fails []failure
}

// Call is one recorded call.
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
	_ runtime.Provider                      = (*Provider)(nil)
	_ runtime.Observer                      = (*Provider)(nil)
	_ runtime.Watcher                       = (*Provider)(nil)
	_ runtime.Deliverer                     = (*Provider)(nil)
	_ runtime.Recoverer                     = (*Provider)(nil)
	_ runtime.Fencer                        = (*Provider)(nil)
	_ runtime.IdleWaitProvider              = (*Provider)(nil)
	_ runtime.DialogProvider                = (*Provider)(nil)
	_ runtime.ImmediateNudgeProvider        = (*Provider)(nil)
	_ runtime.InterruptBoundaryWaitProvider = (*Provider)(nil)
	_ runtime.InterruptedTurnResetProvider  = (*Provider)(nil)
	_ runtime.RelaunchProvider              = (*Provider)(nil)
	_ runtime.ExecProvider                  = (*Provider)(nil)
	_ runtime.ProcessTableScanner           = (*Provider)(nil)
	_ runtime.InteractionProvider           = (*Provider)(nil)
	_ runtime.ServerLifecycleProvider       = (*Provider)(nil)
	_ runtime.TransportCapabilityProvider   = (*Provider)(nil)
	_ runtime.Attacher                      = (*Provider)(nil)
	_ runtime.TerminalOpener                = (*Provider)(nil)
)

// New returns a provider over an empty world, without a shell.
func New() *Provider { return &Provider{world: newWorld()} }

// Reopen returns another provider over the same sessions, as after a restart, with the same shell.
// Its recorded calls and failures are its own.
func (f *Provider) Reopen() *Provider { return &Provider{Shell: f.Shell, world: f.world} }

// Fail makes every later call of the method op for the session return err before it does anything.
// It has no effect on a method without an error result. An empty session means all sessions. A nil
// err removes the failure.
func (f *Provider) Fail(op, session string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = slices.DeleteFunc(f.fails, func(x failure) bool { return x.op == op && x.name == session })
	if err != nil {
		f.fails = append(f.fails, failure{op, session, err})
	}
}

// Calls returns the recorded calls of the named methods in their order. Without names it returns
// the calls of all methods.
func (f *Provider) Calls(ops ...string) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(c Call) bool { return len(ops) > 0 && !slices.Contains(ops, c.Op) })
}

// called records a call and returns the error that [Provider.Fail] set for it.
func (f *Provider) called(op, name string, args ...any) error {
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

// recordCall records a call of a method without an error result.
func (f *Provider) recordCall(op, name string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, Call{op, name, args})
}

// Capabilities reports that the provider has all capabilities.
func (f *Provider) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanReportAttachment: true, CanReportActivity: true, CanStream: true, CanAttachTTY: true}
}

// ConfigureServer does nothing.
func (f *Provider) ConfigureServer() error { return f.called("ConfigureServer", "") }

// TeardownServer does nothing.
func (f *Provider) TeardownServer() error { return f.called("TeardownServer", "") }

// SupportsTransport implements runtime.TransportCapabilityProvider. It supports only the empty
// transport.
func (f *Provider) SupportsTransport(transport string) bool {
	f.recordCall("SupportsTransport", "", transport)
	return transport == ""
}

// notFound returns the error of an operation on a missing session.
func notFound(op, name string) error {
	return &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
}

func (c Call) String() string { return fmt.Sprintf("%s(%q) %v", c.Op, c.Name, c.Args) }
