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

// TestAFaultThatOthersMetFreezesAtOnce has a store whose records are taken and
// that is at fault all the same.
func TestAFaultThatOthersMetFreezesAtOnce(t *testing.T) {
	var fault atomic.Pointer[error]
	set := func(w *fakeCity, err error) {
		fault.Store(&err)
		w.c.StoreChanged()
		w.after(0)
	}
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.change = func(o *Options) {
			o.StoreFault = func() error {
				if err := fault.Load(); err != nil {
					return *err
				}
				return nil
			}
		}
		w.begin()
		set(w, errors.New("the disk is full"))
		if status, _ := w.c.Status(t.Context()); status.Controller.Degraded == "" {
			t.Error("the city is not said to be degraded")
		}
		w.fake.end("gc-town-a", 3)
		w.after(time.Minute)
		if n := w.fake.number("start"); n != 1 {
			t.Errorf("%d starts while the store was at fault, want the first one only", n)
		}
		set(w, nil)
		w.after(time.Second)
		w.want("a", client.StateRunning)
		if status, _ := w.c.Status(t.Context()); status.Controller.Degraded != "" {
			t.Errorf("the city is still degraded: %s", status.Controller.Degraded)
		}
	})
}

func TestEveryNameIsKnownBeforeTheFirstTurn(t *testing.T) {
	w := newFakeCity(t, []string{"a"})
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
		if v, err := c.Snapshot(name); err != nil || v.Unknown == "" || v.Running || v.Desired != plan.DesiredRunning {
			t.Errorf("%s is %+v, %v; want that it is to run and that nothing is known yet", name, v, err)
		}
	}
	if _, err := c.Snapshot("b"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a name that is not configured gives %v", err)
	}
}

// TestSomebodyWhoCameUnseenIsNotDisturbed attaches a terminal without an event,
// just before an agent is to sleep: no hold is kept on a look that is old.
func TestSomebodyWhoCameUnseenIsNotDisturbed(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].IdleAfter = 10 * time.Minute })
		w.begin()
		w.fake.setActivity("gc-town-a", runtime.ActivityIdle)
		w.after(5 * time.Minute)
		w.fake.set(func(f *fake) { f.sessions["gc-town-a"].attached = 1 })
		w.after(10 * time.Minute)
		w.want("a", client.StateRunning)
		if slices.Contains(w.kinds("gc-town-a"), "session.held") {
			t.Error("a hold was kept although a terminal is attached")
		}
		w.fake.set(func(f *fake) {
			f.sessions["gc-town-a"].attached = 0
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a"})
		})
		w.after(30 * time.Minute)
		w.want("a", client.StateAsleep)
		if r := w.records.record(t, "gc-town-a"); r.Hold.Kind != session.HoldSleep {
			t.Errorf("the store holds %+v, want the sleep", r.Hold)
		}
	})
}

// badRows is a store some of whose records cannot be decoded, or that reads
// nothing.
type badRows struct {
	*countingStore
	err error
}

func (b badRows) Load(context.Context) ([]session.Record, error) { return nil, b.err }

func TestARecordThatCannotBeReadHoldsUpNobody(t *testing.T) {
	for name, tt := range map[string]struct {
		err error
		run int
	}{
		"a row": {errors.New("session record gc-town-a (fake): invalid character"), 2},
		"all":   {fmt.Errorf("%w: the disk does not answer", client.ErrUnavailable), 0},
	} {
		t.Run(name, func(t *testing.T) {
			inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
				w.store = badRows{w.records, tt.err}
				w.begin()
				w.after(time.Hour)
				if n := len(w.fake.lives()); n != tt.run {
					t.Errorf("%d of 2 agents run, want %d", n, tt.run)
				}
			})
		})
	}
}
