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

// operation is a call of the contract at the far end.
type operation struct {
	// finishes: what was begun is brought to its end, although no caller waits for
	// it.
	finishes bool
	run      func(ctx context.Context, s *server, r request) (any, error)
}

// The bodies of calls with more than one argument.
type (
	pair struct {
		Key   string `json:"key,omitempty"`
		Value string `json:"value,omitempty"`
	}
	bounded struct {
		Since time.Time     `json:"since,omitzero"`
		Limit time.Duration `json:"limit"`
	}
	copied struct {
		Source      string `json:"source"`
		Destination string `json:"destination"`
	}
	ran struct {
		Output []byte `json:"output,omitempty"`
		Code   int    `json:"code"`
	}
	names struct {
		Names []string `json:"names,omitempty"`
	}
)

// on makes an operation of a function: In is read from the request, Out is the answer.
func on[In, Out any](f func(ctx context.Context, p runtime.Provider, name string, in In) (Out, error)) operation {
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

// toEnd is on for what must not be left half done.
func toEnd[In, Out any](f func(ctx context.Context, p runtime.Provider, name string, in In) (Out, error)) operation {
	op := on(f)
	op.finishes = true
	return op
}

type nothing struct{}

// does is for functions whose only answer is an error.
func does[In any](f func(ctx context.Context, p runtime.Provider, name string, in In) error) func(context.Context, runtime.Provider, string, In) (nothing, error) {
	return func(ctx context.Context, p runtime.Provider, name string, in In) (nothing, error) {
		return nothing{}, f(ctx, p, name, in)
	}
}

// operations are the calls by their names on the wire.
func operations() map[string]operation {
	ops := map[string]operation{
		"hello": {run: func(ctx context.Context, s *server, r request) (any, error) {
			var h hello
			if err := json.Unmarshal(r.Body, &h); err != nil {
				return nil, errors.New("the caller does not say which protocol it speaks")
			}
			return s.greet(context.WithoutCancel(ctx), h)
		}},
		"remove": {finishes: true, run: func(_ context.Context, s *server, _ request) (any, error) {
			running, err := s.provider.ListRunning("")
			switch {
			case err != nil:
				return nil, err
			case len(running) > 0:
				return nil, fmt.Errorf("sessions are there: %v", running)
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
	for _, some := range []map[string]operation{lifeOperations(), lookOperations(), inputOperations(), noteOperations()} {
		maps.Copy(ops, some)
	}
	return ops
}

func lifeOperations() map[string]operation {
	return map[string]operation{
		"start": on(does(func(ctx context.Context, p runtime.Provider, name string, cfg runtime.Config) error {
			return p.Start(ctx, name, cfg)
		})),
		"stop":               toEnd(does(func(_ context.Context, p runtime.Provider, name string, _ nothing) error { return p.Stop(name) })),
		"stop-instance":      toEnd(does(runtime.StopInstance)),
		"interrupt":          toEnd(does(func(_ context.Context, p runtime.Provider, name string, _ nothing) error { return p.Interrupt(name) })),
		"interrupt-instance": toEnd(does(runtime.InterruptInstance)),
		"relaunch":           on(does(runtime.Relaunch)),
		"recover":            on(does(runtime.Recover)),
		"run-live": toEnd(does(func(_ context.Context, p runtime.Provider, name string, cfg runtime.Config) error {
			return p.RunLive(name, cfg)
		})),
		"copy-to": toEnd(does(func(_ context.Context, p runtime.Provider, name string, c copied) error {
			return p.CopyTo(name, c.Source, c.Destination)
		})),
		"reset-turn": on(does(func(ctx context.Context, p runtime.Provider, name string, _ nothing) error {
			return runtime.ResetInterruptedTurn(ctx, p, name)
		})),
		"terminate": toEnd(does(func(_ context.Context, p runtime.Provider, _ string, r runtime.LiveRuntime) error {
			return runtime.TerminateRuntime(p, r)
		})),
		"configure-server": toEnd(does(func(_ context.Context, p runtime.Provider, _ string, _ nothing) error {
			return runtime.ConfigureServer(p)
		})),
		"teardown-server": toEnd(does(func(_ context.Context, p runtime.Provider, _ string, _ nothing) error {
			return runtime.TeardownServer(p)
		})),
	}
}

func lookOperations() map[string]operation {
	return map[string]operation{
		"is-running": on(func(_ context.Context, p runtime.Provider, name string, _ nothing) (bool, error) {
			return p.IsRunning(name), nil
		}),
		"is-attached": on(func(_ context.Context, p runtime.Provider, name string, _ nothing) (bool, error) {
			return p.IsAttached(name), nil
		}),
		"process-alive": on(func(_ context.Context, p runtime.Provider, name string, n []string) (bool, error) {
			return p.ProcessAlive(name, n), nil
		}),
		"list-running": on(func(_ context.Context, p runtime.Provider, _, prefix string) ([]string, error) {
			return p.ListRunning(prefix)
		}),
		"last-activity": on(func(_ context.Context, p runtime.Provider, name string, _ nothing) (time.Time, error) {
			return p.GetLastActivity(name)
		}),
		"observe": on(func(ctx context.Context, p runtime.Provider, name string, _ nothing) (observation, error) {
			o, err := runtime.Observe(ctx, p, name)
			return packObservation(o), err
		}),
		"sense": on(func(ctx context.Context, p runtime.Provider, name string, _ nothing) (reading, error) {
			r, err := runtime.Sense(ctx, p, name)
			return packReading(r), err
		}),
		"peek": on(func(_ context.Context, p runtime.Provider, name string, lines int) (string, error) {
			return p.Peek(name, lines)
		}),
		"pending": on(func(_ context.Context, p runtime.Provider, name string, _ nothing) (*runtime.PendingInteraction, error) {
			return runtime.Pending(p, name)
		}),
		"wait-for-idle": on(does(func(ctx context.Context, p runtime.Provider, name string, b bounded) error {
			return runtime.WaitForIdle(ctx, p, name, b.Limit)
		})),
		"wait-for-boundary": on(does(func(ctx context.Context, p runtime.Provider, name string, b bounded) error {
			return runtime.WaitForInterruptBoundary(ctx, p, name, b.Since, b.Limit)
		})),
		"find-runtimes": on(func(_ context.Context, p runtime.Provider, _, id string) ([]runtime.LiveRuntime, error) {
			return runtime.FindRuntimesBySessionID(p, id)
		}),
		"supports-transport": on(func(_ context.Context, p runtime.Provider, _, transport string) (bool, error) {
			return runtime.SupportsTransport(p, transport), nil
		}),
	}
}

func inputOperations() map[string]operation {
	return map[string]operation{
		"nudge": toEnd(does(func(_ context.Context, p runtime.Provider, name string, c content) error {
			return p.Nudge(name, c.unpack())
		})),
		"nudge-now": toEnd(does(func(_ context.Context, p runtime.Provider, name string, c content) error {
			return runtime.NudgeNow(p, name, c.unpack())
		})),
		"deliver": on(func(ctx context.Context, p runtime.Provider, name string, d delivery) (runtime.Outcome, error) {
			return runtime.Deliver(ctx, p, name, d.unpack())
		}),
		"settle": on(func(ctx context.Context, p runtime.Provider, name string, d delivery) (runtime.Outcome, error) {
			return runtime.Settle(ctx, p, name, d.unpack())
		}),
		"withdraw": on(func(ctx context.Context, p runtime.Provider, name string, d delivery) (bool, error) {
			return runtime.Withdraw(ctx, p, name, d.unpack())
		}),
		"clear-input": on(does(runtime.ClearInput)),
		"set-hints": on(does(func(ctx context.Context, p runtime.Provider, name string, h hints) error {
			return runtime.SetHints(ctx, p, name, h.Instance, h.Hints)
		})),
		"send-keys": toEnd(does(func(_ context.Context, p runtime.Provider, name string, keys []string) error {
			return p.SendKeys(name, keys...)
		})),
		"respond": toEnd(does(func(_ context.Context, p runtime.Provider, name string, r runtime.InteractionResponse) error {
			return runtime.Respond(p, name, r)
		})),
		"dismiss-dialogs": on(does(func(ctx context.Context, p runtime.Provider, name string, b bounded) error {
			return runtime.DismissKnownDialogs(ctx, p, name, b.Limit)
		})),
		"exec": on(func(ctx context.Context, p runtime.Provider, name string, argv []string) (ran, error) {
			output, code, err := runtime.Exec(ctx, p, name, argv)
			return ran{output, code}, err
		}),
		"clear-scrollback": on(does(func(_ context.Context, p runtime.Provider, name string, _ nothing) error {
			return p.ClearScrollback(name)
		})),
	}
}

func noteOperations() map[string]operation {
	return map[string]operation{
		"set-meta": toEnd(does(func(_ context.Context, p runtime.Provider, name string, m pair) error {
			return p.SetMeta(name, m.Key, m.Value)
		})),
		"get-meta": on(func(_ context.Context, p runtime.Provider, name, key string) (string, error) {
			return p.GetMeta(name, key)
		}),
		"remove-meta": toEnd(does(func(_ context.Context, p runtime.Provider, name, key string) error { return p.RemoveMeta(name, key) })),
	}
}
