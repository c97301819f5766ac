package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// gate is a store whose writes can be blocked.
type gate struct {
	*recordStore
	mu   sync.Mutex
	hang chan struct{}
}

func (g *gate) Save(ctx context.Context, r session.Record) error {
	g.mu.Lock()
	hang := g.hang
	g.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.recordStore.Save(ctx, r)
}

func (g *gate) shut() { g.mu.Lock(); defer g.mu.Unlock(); g.hang = make(chan struct{}) }
func (g *gate) open() { g.mu.Lock(); defer g.mu.Unlock(); close(g.hang); g.hang = nil }

// ordered is a request whose caller waits for the answer.
type ordered struct {
	done client.Done
	err  error
}

func runVerb(t *testing.T, verb func(context.Context, string, client.LifecycleRequest) (client.Done, error)) chan ordered {
	answer := make(chan ordered, 1)
	go func() {
		done, err := verb(t.Context(), "a", client.LifecycleRequest{})
		answer <- ordered{done, err}
	}()
	synctest.Wait()
	return answer
}

// TestRequestHasNoEffectBeforeItIsSaved sends two requests while the store hangs.
func TestRequestHasNoEffectBeforeItIsSaved(t *testing.T) {
	type verb func(context.Context, string, client.LifecycleRequest) (client.Done, error)
	for name, verbs := range map[string]func(c *Controller) [2]verb{
		"two":   func(c *Controller) [2]verb { return [2]verb{c.Sleep, c.Suspend} },
		"equal": func(c *Controller) [2]verb { return [2]verb{c.Suspend, c.Suspend} },
	} {
		for _, taken := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
					g := &gate{recordStore: w.records}
					w.store = g
					w.start()
					w.advance(time.Minute)
					g.shut()
					one, two := runVerb(t, verbs(w.c)[0]), runVerb(t, verbs(w.c)[1])
					w.advance(time.Second)
					if v, _ := w.c.Snapshot("a"); len(one)+len(two) > 0 || v.Hold.Kind != "" || slices.Contains(w.kinds("gc-town-a"), "session.held") {
						t.Errorf("before the store has an order, %d and %d are answered, the view is %+v, events are %v", len(one), len(two), v, w.kinds("gc-town-a"))
					}
					if !taken {
						w.advance(10 * time.Second)
					}
					g.open()
					w.advance(time.Minute)
					for _, answer := range []ordered{<-one, <-two} {
						if taken != (answer.err == nil) || !taken && !errors.Is(answer.err, client.ErrUnavailable) {
							t.Errorf("the store takes it: %v; the answer is %+v", taken, answer)
						}
					}
					state, hold := client.StateRunning, session.HoldKind("")
					if taken {
						state, hold = client.StateSuspended, session.HoldSuspend
					}
					w.want("a", state)
					if got := w.records.record(t, "gc-town-a").Hold.Kind; got != hold {
						t.Errorf("the store has the hold %q, want %q", got, hold)
					}
				})
			})
		}
	}
}

// TestAgentWokenForAPromptSleepsAgain has a prompt that is accepted at once.
func TestAgentWokenForAPromptSleepsAgain(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		var mu sync.Mutex
		queued := 0
		set := func(n int) { mu.Lock(); defer mu.Unlock(); queued = n }
		w.change = func(o *Options) {
			o.Queued = func(string) (int, time.Time) { mu.Lock(); defer mu.Unlock(); return queued, time.Time{} }
		}
		w.edit(func(d *plan.Desired) { d.Sessions[0].IdleAfter = 5 * time.Second })
		w.provider.readings = map[string]runtime.Reading{"gc-town-a": {Evidence: []runtime.Evidence{{Source: runtime.SourceScreen, Activity: runtime.ActivityIdle}}}}
		w.start()
		w.advance(time.Minute)
		w.want("a", client.StateAsleep)
		set(1)
		if err := w.c.WakeFor(t.Context(), "a", "a prompt waits for it"); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.want("a", client.StateRunning)
		set(0)
		w.provider.works("gc-town-a")
		w.advance(15 * time.Second)
		w.want("a", client.StateAsleep)
	})
}

// TestLaterSleepReplacesARestart has a restart that cannot complete.
func TestLaterSleepReplacesARestart(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.advance(time.Minute)
		w.provider.set(func(f *testProvider) { f.down = errDown })
		restarted := runVerb(t, func(ctx context.Context, name string, _ client.LifecycleRequest) (client.Done, error) {
			return w.c.Restart(ctx, client.RestartRequest{Targets: []string{name}})
		})
		mustDo(t, w.c.Sleep, client.LifecycleRequest{})
		w.provider.set(func(f *testProvider) { f.down = nil })
		w.advance(5 * time.Minute)
		w.want("a", client.StateAsleep)
		if answer := <-restarted; answer.err == nil {
			t.Errorf("it sleeps, and the restart is answered with %+v", answer.done)
		}
	})
}

// TestRelaunchIsANewInstance relaunches an agent in its session.
func TestRelaunchIsANewInstance(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.advance(time.Minute)
		before, _ := w.c.Snapshot("a")
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Command = "another program" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(10 * time.Minute)
		after, _ := w.c.Snapshot("a")
		if w.provider.number("relaunch") != 1 || after.Epoch != before.Epoch+1 || !after.Ready {
			t.Errorf("after %d relaunches the instance is %d, it was %d", w.provider.number("relaunch"), after.Epoch, before.Epoch)
		}
		if got := w.records.record(t, "gc-town-a").Epoch; got != after.Epoch {
			t.Errorf("the store has instance %d, want %d", got, after.Epoch)
		}
	})
}
