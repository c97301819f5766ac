package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// fault is why a provider fails; nil: it works.
type fault struct{ atomic.Pointer[error] }

func faulty(words string) *fault {
	f := &fault{}
	err := errors.New(words)
	f.Store(&err)
	return f
}

func (f *fault) err() error {
	if err := f.Load(); err != nil {
		return *err
	}
	return nil
}

// late is a provider that fails until it has no fault.
type late struct {
	*testProvider
	missing *fault
}

func (l late) Open(context.Context) error { return l.missing.err() }

func (l late) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := l.missing.err(); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	return l.testProvider.Start(ctx, name, cfg)
}

// twoProviders adds a second provider that fails as long as missing is set. With refuses it cannot be opened,
// otherwise only its starts fail.
func (w *testCity) twoProviders(missing *fault, refuses bool) *testProvider {
	other := newTestProvider()
	w.change = func(o *Options) {
		o.Provider = func(_ context.Context, selection string) (runtime.Provider, error) {
			switch {
			case selection == "fake":
				return w.provider, nil
			case refuses && missing.err() != nil:
				return nil, missing.err()
			}
			return late{other, missing}, nil
		}
	}
	return other
}

// moveTo changes the provider of every agent.
func (w *testCity) moveTo(provider string) {
	w.t.Helper()
	w.edit(func(d *plan.Desired) {
		for i := range d.Sessions {
			d.Sessions[i].Provider = provider
		}
	})
	if err := w.reload(); err != nil {
		w.t.Fatal(err)
	}
}

// at returns the status of an agent at a provider.
func (w *testCity) at(name, provider string) client.Agent {
	w.t.Helper()
	status, _ := w.c.Status(w.t.Context())
	for _, a := range status.Agents {
		if a.Name == name && a.Provider == provider {
			return a
		}
	}
	return client.Agent{}
}

// TestAgentRunsUntilItsNewProviderOpens moves an agent to a provider that fails, in
// both ways. The agent continues to run with the reason in its status, also under the next controller, and
// moves when the provider works.
func TestAgentRunsUntilItsNewProviderOpens(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		t.Run(fmt.Sprint("opening fails: ", refuses), func(t *testing.T) {
			inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
				missing := faulty("its tool is not here")
				other := w.twoProviders(missing, refuses)
				w.start()
				before := w.provider.lives()
				w.moveTo("elsewhere")
				const words = "the new provider cannot be opened: its tool is not here; it stays at fake"
				for range 2 {
					w.advance(10 * time.Minute)
					if diff := cmp.Diff(before, w.provider.lives()); diff != "" {
						t.Fatalf("agents were stopped although the new provider fails:\n%s", diff)
					}
					for _, name := range []string{"a", "b"} {
						if a := w.at(name, "fake"); a.State != client.StateRunning || a.Reason != words {
							t.Errorf("%s is %s: %q, want it running: %q", name, a.State, a.Reason, words)
						}
					}
					if e, err := w.c.Explain(t.Context(), "a"); err != nil || e.Reason != words {
						t.Errorf("explained as %q, %v", e.Reason, err)
					}
					if v, err := w.c.Snapshot("a"); err != nil || !v.Ready {
						t.Errorf("it cannot be prompted: %+v, %v", v, err)
					}
					w.stop()
					w.start() // another controller adopts it
				}
				if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a"}}); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), words) {
					t.Errorf("a restart that cannot come to an end: %v", err)
				}
				if _, err := w.c.Restart(t.Context(), client.RestartRequest{}); err != nil {
					t.Errorf("a restart of all that can be: %v", err)
				}
				if diff := cmp.Diff(before, w.provider.lives()); diff != "" {
					t.Fatalf("agents were ended:\n%s", diff)
				}
				missing.Store(nil)
				w.advance(2 * time.Minute)
				if here, there := w.provider.lives(), other.lives(); len(here) != 0 || len(there) != 2 {
					t.Errorf("when the provider works, %v run at the previous one and %v at the new", here, there)
				}
				if a := w.at("a", "elsewhere"); a.State != client.StateRunning || a.Epoch != 2 {
					t.Errorf("at its new provider it is %s, instance %d, want the second", a.State, a.Epoch)
				}
			})
		})
	}
}

// TestProviderChangeCanBeReverted reverts a mistake: no agent is stopped.
func TestProviderChangeCanBeReverted(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		missing := faulty("there is no such provider")
		w.twoProviders(missing, false)
		w.start()
		before := w.provider.lives()
		w.moveTo("typo")
		w.advance(5 * time.Minute)
		w.moveTo("fake")
		w.advance(5 * time.Minute)
		if diff := cmp.Diff(before, w.provider.lives()); diff != "" {
			t.Errorf("it was ended:\n%s", diff)
		}
		if a := w.agent("a"); a.State != client.StateRunning || a.Reason != "it runs as configured" {
			t.Errorf("it is %s: %s", a.State, a.Reason)
		}
	})
}

// TestHoldAppliesAtTheNewProvider moves two agents. A person suspends one before the change, and the
// other while the new provider fails. Neither runs before it is resumed.
func TestHoldAppliesAtTheNewProvider(t *testing.T) {
	inTestCity(t, []string{"before", "during"}, func(t *testing.T, w *testCity) {
		missing := faulty("its tool is not here")
		other := w.twoProviders(missing, false)
		w.start()
		suspend := func(name string) {
			if _, err := w.c.Suspend(t.Context(), name, client.LifecycleRequest{}); err != nil {
				t.Fatal(err)
			}
			w.advance(time.Minute)
		}
		suspend("before")
		w.moveTo("elsewhere")
		w.advance(time.Minute)
		suspend("during")
		missing.Store(nil)
		w.advance(5 * time.Minute)
		w.stop()
		w.start()
		w.advance(time.Minute)
		for _, name := range []string{"before", "during"} {
			if a := w.agent(name); a.State != client.StateSuspended || a.Provider != "elsewhere" {
				t.Errorf("%s at %s is %s: %s", name, a.Provider, a.State, a.Reason)
			}
		}
		if here, there := w.provider.lives(), other.lives(); len(here)+len(there) != 0 {
			t.Errorf("%v and %v run although they are suspended", here, there)
		}
		if _, err := w.c.Resume(t.Context(), "before", client.LifecycleRequest{}); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Minute)
		if there := other.lives(); len(there) != 1 {
			t.Errorf("after one was resumed, %v run", there)
		}
	})
}

// TestBusyAgentMovesAfterItsTurn moves an agent in a turn.
func TestBusyAgentMovesAfterItsTurn(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		other := w.twoProviders(&fault{}, false)
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Minute)
		w.moveTo("elsewhere")
		w.advance(10 * time.Minute)
		if a := w.at("a", "fake"); len(w.provider.lives()) != 1 || !strings.Contains(a.Reason, "deferred while the agent is busy") {
			t.Errorf("it is %s: %s", a.State, a.Reason)
		}
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(2 * time.Minute)
		if here, there := w.provider.lives(), other.lives(); len(here) != 0 || len(there) != 1 {
			t.Errorf("after its turn %v run at the previous provider and %v at the new", here, there)
		}
	})
}

// TestPartialListingCountsForItsSessions has a listing with half of the sessions. Those are
// handled as usual. Nothing is concluded about the others.
func TestPartialListingCountsForItsSessions(t *testing.T) {
	inTestCity(t, names(4), func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		w.provider.set(func(f *testProvider) { f.listed = []string{"gc-town-a000", "gc-town-a001"} })
		w.advance(time.Minute)
		w.want("a000", client.StateRunning)
		w.want("a002", client.StateUnknown)
		status, _ := w.c.Status(t.Context())
		if !strings.Contains(status.Controller.Degraded, "half of it does not answer") {
			t.Errorf("degraded is %q, want the reason", status.Controller.Degraded)
		}
		w.provider.end("gc-town-a000", 1)
		w.provider.vanish("gc-town-a002")
		w.edit(func(d *plan.Desired) { d.Sessions = append(d.Sessions[:1:1], d.Sessions[2]) }) // without a001 and a003
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(5 * time.Minute)
		lives := w.provider.lives()
		if lives["gc-town-a000"] == "" || lives["gc-town-a000"] == before["gc-town-a000"] {
			t.Error("the one that ended, and was listed, was not started again")
		}
		if lives["gc-town-a001"] != "" {
			t.Error("the one that was listed and is not configured was not ended")
		}
		if lives["gc-town-a002"] != "" || lives["gc-town-a003"] != before["gc-town-a003"] {
			t.Error("the controller acted on a session that was not reported")
		}
		w.provider.set(func(f *testProvider) { f.listed = nil })
		w.advance(2 * time.Minute)
		status, _ = w.c.Status(t.Context())
		if lives := w.provider.lives(); status.Controller.Degraded != "" || lives["gc-town-a002"] == "" || lives["gc-town-a003"] != "" {
			t.Errorf("after it answers again: %v, degraded %q", lives, status.Controller.Degraded)
		}
	})
}
