package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// TestReportedStoreFailureStopsChangesAtOnce has a store that accepts records, although
// another service reports its failure.
func TestReportedStoreFailureStopsChangesAtOnce(t *testing.T) {
	var fault atomic.Pointer[error]
	set := func(w *testCity, err error) {
		fault.Store(&err)
		w.c.StoreChanged()
		w.advance(0)
	}
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.change = func(o *Options) {
			o.StoreFault = func() error {
				if err := fault.Load(); err != nil {
					return *err
				}
				return nil
			}
		}
		w.start()
		set(w, errors.New("the disk is full"))
		if status, _ := w.c.Status(t.Context()); status.Controller.Degraded == "" {
			t.Error("the city is not said to be degraded")
		}
		w.provider.end("gc-town-a", 3)
		w.advance(time.Minute)
		if n := w.provider.number("start"); n != 1 {
			t.Errorf("%d starts while the store was at fault, want the first one only", n)
		}
		set(w, nil)
		w.advance(time.Second)
		w.want("a", client.StateRunning)
		if status, _ := w.c.Status(t.Context()); status.Controller.Degraded != "" {
			t.Errorf("the city is still degraded: %s", status.Controller.Degraded)
		}
	})
}

func TestEveryNameIsKnownAtTheStart(t *testing.T) {
	w := newTestCity(t, []string{"a"})
	w.change = func(o *Options) {
		o.Queued = func(string) (int, time.Time) {
			t.Error("the queue was asked before the controller ran")
			return 0, time.Time{}
		}
		o.Changed = func(string) { t.Error("a change was reported before the controller ran") }
	}
	c, err := Open(t.Context(), w.options())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "gc-town-a"} {
		if v, err := c.Snapshot(name); err != nil || v.Unknown == "" || v.Running || v.Desired != client.DesiredRunning {
			t.Errorf("%s is %+v, %v; want that it is to run and that nothing is known yet", name, v, err)
		}
	}
	if _, err := c.Snapshot("b"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a name that is not configured gives %v", err)
	}
}

// TestUnreportedAttachmentPreventsASleep attaches a terminal without an event
// just before an agent is to sleep. An old observation is not enough for a sleep.
func TestUnreportedAttachmentPreventsASleep(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].IdleAfter = 10 * time.Minute })
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(5 * time.Minute)
		w.provider.set(func(f *testProvider) { f.sessions["gc-town-a"].attached = 1 })
		w.advance(10 * time.Minute)
		w.want("a", client.StateRunning)
		if slices.Contains(w.kinds("gc-town-a"), "session.held") {
			t.Error("a hold was kept although a terminal is attached")
		}
		w.provider.set(func(f *testProvider) {
			f.sessions["gc-town-a"].attached = 0
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a"})
		})
		w.advance(30 * time.Minute)
		w.want("a", client.StateAsleep)
		if r := w.records.record(t, "gc-town-a"); r.Hold.Kind != session.HoldSleep {
			t.Errorf("the store holds %+v, want the sleep", r.Hold)
		}
	})
}

// badRows is a store whose reads return an error: some records, or all, cannot be decoded.
type badRows struct {
	*recordStore
	err error
}

func (b badRows) Load(context.Context) ([]session.Record, error) { return nil, b.err }

func TestUnreadableRecordDelaysNoOtherAgent(t *testing.T) {
	for name, tt := range map[string]struct {
		err error
		run int
	}{
		"a row": {errors.New("session record gc-town-a (fake): invalid character"), 2},
		"all":   {fmt.Errorf("%w: the disk does not answer", client.ErrUnavailable), 0},
	} {
		t.Run(name, func(t *testing.T) {
			inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
				w.store = badRows{w.records, tt.err}
				w.start()
				w.advance(time.Hour)
				if n := len(w.provider.lives()); n != tt.run {
					t.Errorf("%d of 2 agents run, want %d", n, tt.run)
				}
			})
		})
	}
}
