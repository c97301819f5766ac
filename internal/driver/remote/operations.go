package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"gascity/runtime"
)

// operation is a call of the contract that the remote end runs.
type operation struct {
	// uninterruptible means that the operation is finished even if its caller has disconnected.
	uninterruptible bool
	run             func(ctx context.Context, s *server, r request) (any, error)
}

// The bodies of calls with more than one argument.
type (
	keyValue struct {
		Key   string `json:"key,omitempty"`
		Value string `json:"value,omitempty"`
	}
	waitRequest struct {
		Since time.Time     `json:"since,omitzero"`
		Limit time.Duration `json:"limit"`
	}
	copyRequest struct {
		Source      string `json:"source"`
		Destination string `json:"destination"`
	}
	execResult struct {
		Output []byte `json:"output,omitempty"`
		Code   int    `json:"code"`
	}
	names struct {
		Names []string `json:"names,omitempty"`
	}
)

// newOperation makes an operation from a function. In is decoded from the request; Out is the answer.
func newOperation[In, Out any](f func(ctx context.Context, p runtime.Provider, name string, in In) (Out, error)) operation {
	return operation{run: func(ctx context.Context, s *server, r request) (any, error) {
		var in In
		if len(r.Body) > 0 {
			if err := json.Unmarshal(r.Body, &in); err != nil {
				return nil, fmt.Errorf("cannot read the call %q: %w", r.Op, err)
			}
		}
		return f(ctx, s.provider, r.Name, in)
	}}
}

// newUninterruptible is newOperation for an operation that must not be left half done.
func newUninterruptible[In, Out any](f func(ctx context.Context, p runtime.Provider, name string, in In) (Out, error)) operation {
	op := newOperation(f)
	op.uninterruptible = true
	return op
}

type empty struct{}

// withoutResult adapts a function that returns only an error to newOperation.
func withoutResult[In any](f func(ctx context.Context, p runtime.Provider, name string, in In) error) func(context.Context, runtime.Provider, string, In) (empty, error) {
	return func(ctx context.Context, p runtime.Provider, name string, in In) (empty, error) {
		return empty{}, f(ctx, p, name, in)
	}
}

// operations returns all operations by their names on the wire.
func operations() map[string]operation {
	ops := map[string]operation{
		"hello": {run: func(ctx context.Context, s *server, r request) (any, error) {
			var h hello
			if err := json.Unmarshal(r.Body, &h); err != nil {
				return nil, errors.New("the hello request has no protocol version")
			}
			return s.handleHello(context.WithoutCancel(ctx), h)
		}},
		"remove": {uninterruptible: true, run: func(_ context.Context, s *server, _ request) (any, error) {
			running, err := s.provider.ListRunning("")
			switch {
			case err != nil:
				return nil, err
			case len(running) > 0:
				return nil, fmt.Errorf("cannot remove the files of gc on this host: these sessions still exist: %v", running)
			case s.opts.Remove == nil:
				return nil, errors.ErrUnsupported
			}
			return nil, s.opts.Remove()
		}},
		"discard": {run: func(_ context.Context, s *server, r request) (any, error) {
			var n names
			if err := json.Unmarshal(r.Body, &n); err != nil {
				return nil, err
			}
			return nil, s.discard(n.Names)
		}},
	}
	for _, some := range []map[string]operation{lifecycleOperations(), inspectOperations(), inputOperations(), metadataOperations()} {
		maps.Copy(ops, some)
	}
	return ops
}

// lifecycleOperations returns the operations that start, stop and change sessions.
func lifecycleOperations() map[string]operation {
	return map[string]operation{
		"start": newOperation(withoutResult(func(ctx context.Context, p runtime.Provider, name string, cfg runtime.Config) error {
			return p.Start(ctx, name, cfg)
		})),
		"stop":               newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name string, _ empty) error { return p.Stop(name) })),
		"stop-instance":      newUninterruptible(withoutResult(runtime.StopInstance)),
		"interrupt":          newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name string, _ empty) error { return p.Interrupt(name) })),
		"interrupt-instance": newUninterruptible(withoutResult(runtime.InterruptInstance)),
		"relaunch":           newOperation(withoutResult(runtime.Relaunch)),
		"recover":            newOperation(withoutResult(runtime.Recover)),
		"run-live": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name string, cfg runtime.Config) error {
			return p.RunLive(name, cfg)
		})),
		"copy-to": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name string, c copyRequest) error {
			return p.CopyTo(name, c.Source, c.Destination)
		})),
		"reset-turn": newOperation(withoutResult(func(ctx context.Context, p runtime.Provider, name string, _ empty) error {
			return runtime.ResetInterruptedTurn(ctx, p, name)
		})),
		"terminate": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, _ string, r runtime.LiveRuntime) error {
			return runtime.TerminateRuntime(p, r)
		})),
		"configure-server": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, _ string, _ empty) error {
			return runtime.ConfigureServer(p)
		})),
		"teardown-server": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, _ string, _ empty) error {
			return runtime.TeardownServer(p)
		})),
	}
}

// inspectOperations returns the operations that read the state of sessions.
func inspectOperations() map[string]operation {
	return map[string]operation{
		"is-running": newOperation(func(_ context.Context, p runtime.Provider, name string, _ empty) (bool, error) {
			return p.IsRunning(name), nil
		}),
		"is-attached": newOperation(func(_ context.Context, p runtime.Provider, name string, _ empty) (bool, error) {
			return p.IsAttached(name), nil
		}),
		"process-alive": newOperation(func(_ context.Context, p runtime.Provider, name string, n []string) (bool, error) {
			return p.ProcessAlive(name, n), nil
		}),
		"list-running": newOperation(func(_ context.Context, p runtime.Provider, _, prefix string) ([]string, error) {
			return p.ListRunning(prefix)
		}),
		"last-activity": newOperation(func(_ context.Context, p runtime.Provider, name string, _ empty) (time.Time, error) {
			return p.GetLastActivity(name)
		}),
		"observe": newOperation(func(ctx context.Context, p runtime.Provider, name string, _ empty) (observation, error) {
			o, err := runtime.Observe(ctx, p, name)
			return packObservation(o), err
		}),
		"sense": newOperation(func(ctx context.Context, p runtime.Provider, name string, _ empty) (reading, error) {
			r, err := runtime.Sense(ctx, p, name)
			return packReading(r), err
		}),
		"peek": newOperation(func(_ context.Context, p runtime.Provider, name string, lines int) (string, error) {
			return p.Peek(name, lines)
		}),
		"pending": newOperation(func(_ context.Context, p runtime.Provider, name string, _ empty) (*runtime.PendingInteraction, error) {
			return runtime.Pending(p, name)
		}),
		"wait-for-idle": newOperation(withoutResult(func(ctx context.Context, p runtime.Provider, name string, b waitRequest) error {
			return runtime.WaitForIdle(ctx, p, name, b.Limit)
		})),
		"wait-for-boundary": newOperation(withoutResult(func(ctx context.Context, p runtime.Provider, name string, b waitRequest) error {
			return runtime.WaitForInterruptBoundary(ctx, p, name, b.Since, b.Limit)
		})),
		"find-runtimes": newOperation(func(_ context.Context, p runtime.Provider, _, id string) ([]runtime.LiveRuntime, error) {
			return runtime.FindRuntimesBySessionID(p, id)
		}),
		"supports-transport": newOperation(func(_ context.Context, p runtime.Provider, _, transport string) (bool, error) {
			return runtime.SupportsTransport(p, transport), nil
		}),
	}
}

// inputOperations returns the operations that send input to sessions.
func inputOperations() map[string]operation {
	return map[string]operation{
		"nudge": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name string, c content) error {
			return p.Nudge(name, c.unpack())
		})),
		"nudge-now": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name string, c content) error {
			return runtime.NudgeNow(p, name, c.unpack())
		})),
		"deliver": newOperation(func(ctx context.Context, p runtime.Provider, name string, d delivery) (runtime.Outcome, error) {
			return runtime.Deliver(ctx, p, name, d.unpack())
		}),
		"settle": newOperation(func(ctx context.Context, p runtime.Provider, name string, d delivery) (runtime.Outcome, error) {
			return runtime.Settle(ctx, p, name, d.unpack())
		}),
		"withdraw": newOperation(func(ctx context.Context, p runtime.Provider, name string, d delivery) (bool, error) {
			return runtime.Withdraw(ctx, p, name, d.unpack())
		}),
		"clear-input": newOperation(withoutResult(runtime.ClearInput)),
		"set-hints": newOperation(withoutResult(func(ctx context.Context, p runtime.Provider, name string, h hints) error {
			return runtime.SetHints(ctx, p, name, h.Instance, h.Hints)
		})),
		"send-keys": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name string, keys []string) error {
			return p.SendKeys(name, keys...)
		})),
		"respond": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name string, r runtime.InteractionResponse) error {
			return runtime.Respond(p, name, r)
		})),
		"dismiss-dialogs": newOperation(withoutResult(func(ctx context.Context, p runtime.Provider, name string, b waitRequest) error {
			return runtime.DismissKnownDialogs(ctx, p, name, b.Limit)
		})),
		"exec": newOperation(func(ctx context.Context, p runtime.Provider, name string, argv []string) (execResult, error) {
			output, code, err := runtime.Exec(ctx, p, name, argv)
			return execResult{output, code}, err
		}),
		"clear-scrollback": newOperation(withoutResult(func(_ context.Context, p runtime.Provider, name string, _ empty) error {
			return p.ClearScrollback(name)
		})),
	}
}

// metadataOperations returns the operations on the metadata of sessions.
func metadataOperations() map[string]operation {
	return map[string]operation{
		"set-meta": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name string, m keyValue) error {
			return p.SetMeta(name, m.Key, m.Value)
		})),
		"get-meta": newOperation(func(_ context.Context, p runtime.Provider, name, key string) (string, error) {
			return p.GetMeta(name, key)
		}),
		"remove-meta": newUninterruptible(withoutResult(func(_ context.Context, p runtime.Provider, name, key string) error { return p.RemoveMeta(name, key) })),
	}
}
