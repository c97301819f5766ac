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

// fault is why a place is not there, nil if it is.
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

// late is a place that is not there yet.
type late struct {
	*fake
	missing *fault
}

func (l late) Open(context.Context) error { return l.missing.err() }

func (l late) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := l.missing.err(); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	return l.fake.Start(ctx, name, cfg)
}

// twoPlaces adds a second place to a town, and says why it is not there; refuses says
// whether its opening fails or only its starts.
func (w *fakeCity) twoPlaces(missing *fault, refuses bool) *fake {
	other := newFake()
	w.change = func(o *Options) {
		o.Provider = func(_ context.Context, selection string) (runtime.Provider, error) {
			switch {
			case selection == "fake":
				return w.fake, nil
			case refuses && missing.err() != nil:
				return nil, missing.err()
			}
			return late{other, missing}, nil
		}
	}
	return other
}

// moveTo edits the place of every agent.
func (w *fakeCity) moveTo(place string) {
	w.t.Helper()
	w.edit(func(d *plan.Desired) {
		for i := range d.Sessions {
			d.Sessions[i].Provider = place
		}
	})
	if err := w.reload(); err != nil {
		w.t.Fatal(err)
	}
}

// at returns what the status says of an agent at a place.
func (w *fakeCity) at(name, place string) client.Agent {
	w.t.Helper()
	status, _ := w.c.Status(w.t.Context())
	for _, a := range status.Agents {
		if a.Name == name && a.Provider == place {
			return a
		}
	}
	return client.Agent{}
}

// TestAnAgentGoesOnUntilItsNewPlaceCanBeOpened moves an agent to a place that is not
// there, in both ways in which a place can fail: it goes on and says why, across a
// restart of the controller, and moves once the place is there.
func TestAnAgentGoesOnUntilItsNewPlaceCanBeOpened(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		t.Run(fmt.Sprint("opening fails: ", refuses), func(t *testing.T) {
			inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
				missing := faulty("its tool is not here")
				other := w.twoPlaces(missing, refuses)
				w.begin()
				before := w.fake.lives()
				w.moveTo("elsewhere")
				const words = "the new place cannot be opened: its tool is not here; it stays at fake"
				for range 2 {
					w.after(10 * time.Minute)
					if diff := cmp.Diff(before, w.fake.lives()); diff != "" {
						t.Fatalf("agents were ended for a place that is not there:\n%s", diff)
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
					w.end()
					w.begin() // another controller finds it there
				}
				if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a"}}); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), words) {
					t.Errorf("a restart that cannot come to an end: %v", err)
				}
				if _, err := w.c.Restart(t.Context(), client.RestartRequest{}); err != nil {
					t.Errorf("a restart of all that can be: %v", err)
				}
				if diff := cmp.Diff(before, w.fake.lives()); diff != "" {
					t.Fatalf("agents were ended:\n%s", diff)
				}
				missing.Store(nil)
				w.after(2 * time.Minute)
				if here, there := w.fake.lives(), other.lives(); len(here) != 0 || len(there) != 2 {
					t.Errorf("once the place is there, %v run at the previous one and %v at the new", here, there)
				}
				if a := w.at("a", "elsewhere"); a.State != client.StateRunning || a.Epoch != 2 {
					t.Errorf("at its new place it is %s, instance %d, want the second", a.State, a.Epoch)
				}
			})
		})
	}
}

// TestAnEditOfThePlaceCanBeTakenBack takes a typo back: it was as if nothing had been.
func TestAnEditOfThePlaceCanBeTakenBack(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		missing := faulty("there is no such provider")
		w.twoPlaces(missing, false)
		w.begin()
		before := w.fake.lives()
		w.moveTo("typo")
		w.after(5 * time.Minute)
		w.moveTo("fake")
		w.after(5 * time.Minute)
		if diff := cmp.Diff(before, w.fake.lives()); diff != "" {
			t.Errorf("it was ended:\n%s", diff)
		}
		if a := w.agent("a"); a.State != client.StateRunning || a.Reason != "it runs as configured" {
			t.Errorf("it is %s: %s", a.State, a.Reason)
		}
	})
}

// TestWhoIsHeldIsHeldAtTheNewPlace moves agents that a person has suspended, before the
// edit and while the new place is not there: neither runs anywhere before it is resumed.
func TestWhoIsHeldIsHeldAtTheNewPlace(t *testing.T) {
	inFakeCity(t, []string{"before", "during"}, func(t *testing.T, w *fakeCity) {
		missing := faulty("its tool is not here")
		other := w.twoPlaces(missing, false)
		w.begin()
		suspend := func(name string) {
			if _, err := w.c.Suspend(t.Context(), name, client.LifecycleRequest{}); err != nil {
				t.Fatal(err)
			}
			w.after(time.Minute)
		}
		suspend("before")
		w.moveTo("elsewhere")
		w.after(time.Minute)
		suspend("during")
		missing.Store(nil)
		w.after(5 * time.Minute)
		w.end()
		w.begin()
		w.after(time.Minute)
		for _, name := range []string{"before", "during"} {
			if a := w.agent(name); a.State != client.StateSuspended || a.Provider != "elsewhere" {
				t.Errorf("%s at %s is %s: %s", name, a.Provider, a.State, a.Reason)
			}
		}
		if here, there := w.fake.lives(), other.lives(); len(here)+len(there) != 0 {
			t.Errorf("%v and %v run although they are suspended", here, there)
		}
		if _, err := w.c.Resume(t.Context(), "before", client.LifecycleRequest{}); err != nil {
			t.Fatal(err)
		}
		w.after(time.Minute)
		if there := other.lives(); len(there) != 1 {
			t.Errorf("after one was resumed, %v run", there)
		}
	})
}

// TestABusyAgentMovesAfterItsTurn moves an agent that is at work.
func TestABusyAgentMovesAfterItsTurn(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		other := w.twoPlaces(&fault{}, false)
		w.fake.setActivity("gc-town-a", runtime.ActivityIdle)
		w.begin()
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy)
		w.after(time.Minute)
		w.moveTo("elsewhere")
		w.after(10 * time.Minute)
		if a := w.at("a", "fake"); len(w.fake.lives()) != 1 || !strings.Contains(a.Reason, "deferred while the agent is busy") {
			t.Errorf("it is %s: %s", a.State, a.Reason)
		}
		w.fake.setActivity("gc-town-a", runtime.ActivityIdle)
		w.after(2 * time.Minute)
		if here, there := w.fake.lives(), other.lives(); len(here) != 0 || len(there) != 1 {
			t.Errorf("after its turn %v run at the previous place and %v at the new", here, there)
		}
	})
}

// TestAPartialListingTellsOfWhatItHas lets a listing miss half of the sessions: those
// that it has are handled as usual, of the others nothing is concluded.
func TestAPartialListingTellsOfWhatItHas(t *testing.T) {
	inFakeCity(t, names(4), func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		w.fake.set(func(f *fake) { f.listed = []string{"gc-town-a000", "gc-town-a001"} })
		w.after(time.Minute)
		w.want("a000", client.StateRunning)
		w.want("a002", client.StateUnknown)
		status, _ := w.c.Status(t.Context())
		if !strings.Contains(status.Controller.Degraded, "half of it does not answer") {
			t.Errorf("degraded is %q, want the reason", status.Controller.Degraded)
		}
		w.fake.end("gc-town-a000", 1)
		w.fake.vanish("gc-town-a002")
		w.edit(func(d *plan.Desired) { d.Sessions = append(d.Sessions[:1:1], d.Sessions[2]) }) // without a001 and a003
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(5 * time.Minute)
		lives := w.fake.lives()
		if lives["gc-town-a000"] == "" || lives["gc-town-a000"] == before["gc-town-a000"] {
			t.Error("the one that ended, and was listed, was not started again")
		}
		if lives["gc-town-a001"] != "" {
			t.Error("the one that was listed and is not configured was not ended")
		}
		if lives["gc-town-a002"] != "" || lives["gc-town-a003"] != before["gc-town-a003"] {
			t.Error("the controller acted on a session that was not reported")
		}
		w.fake.set(func(f *fake) { f.listed = nil })
		w.after(2 * time.Minute)
		status, _ = w.c.Status(t.Context())
		if lives := w.fake.lives(); status.Controller.Degraded != "" || lives["gc-town-a002"] == "" || lives["gc-town-a003"] != "" {
			t.Errorf("after it answers again: %v, degraded %q", lives, status.Controller.Degraded)
		}
	})
}
