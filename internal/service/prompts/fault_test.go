package prompts_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/runtime"
	"gascity/test/servicetest"
	"gascity/test/storetest"
)

// A controller that is killed during a delivery leaves an injected receipt. The next controller
// sends the prompt again only with proof that the agent did not get it.
func TestCutOffDelivery(t *testing.T) {
	for _, c := range []struct {
		name  string
		cut   func(a *agent, text string)
		after string
		took  int
	}{
		{"before the first byte", func(*agent, string) {}, client.ReceiptUnconfirmed, 0},
		{"before Enter", func(a *agent, text string) { a.line = text }, client.ReceiptConsumed, 1},
		{"after Enter", func(a *agent, text string) { a.accept(text) }, client.ReceiptUnconfirmed, 1},
		{"a person typed on", func(a *agent, text string) { a.line = text + " and more" }, client.ReceiptUnconfirmed, 0},
		{"the agent died", func(a *agent, text string) { a.line = text; a.start() }, client.ReceiptUnconfirmed, 0},
	} {
		a := newAgent("a")
		inVirtualTime(t, func(r *engineTest) {
			a.deliver = func(ctx context.Context, a *agent, text string) (runtime.Outcome, error) {
				a.mu.Lock()
				c.cut(a, text)
				a.deliver = nil
				a.mu.Unlock()
				<-ctx.Done()
				return runtime.Outcome{}, ctx.Err()
			}
			sent := r.send("a", "x")
			synctest.Wait()
			r.want(sent.ID, client.ReceiptInjected)
			r.crash()
			servicetest.Advance(5 * time.Second)
			r.Log(c.name)
			r.want(sent.ID, c.after)
			if len(a.ledger) != c.took {
				r.Errorf("%s: the agent took %q, want %d", c.name, a.ledger, c.took)
			}
		}, a)
	}
}

// The engine requests an unknown outcome again, and sends nothing else until it is known.
func TestUnknownOutcomeIsRequestedAgain(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		a.deliver = func(ctx context.Context, a *agent, text string) (runtime.Outcome, error) {
			a.mu.Lock()
			a.line, a.undecided, a.deliver = text, 3, nil
			a.mu.Unlock()
			<-ctx.Done()
			return runtime.Outcome{}, ctx.Err()
		}
		first, second := r.send("a", "x"), r.send("a", "y")
		synctest.Wait()
		r.crash()
		servicetest.Advance(3 * time.Second)
		r.want(first.ID, client.ReceiptInjected)
		r.want(second.ID, client.ReceiptQueued)
		servicetest.Advance(10 * time.Second)
		r.want(first.ID, client.ReceiptConsumed)
		r.want(second.ID, client.ReceiptConsumed)
		if len(a.ledger) != 2 || a.ledger[0] != "x" {
			r.Errorf("the agent took %q, want x and y", a.ledger)
		}
	}, a)
}

// While the store cannot save, nothing is sent. If a write has no result, the engine reads it back.
func TestBrokenStoreSendsNothing(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		faulty := r.city.Store
		a.view.Ready = false
		sent := r.send("a", "x")
		for _, mode := range []storetest.Mode{storetest.Fails, storetest.FailsWrites, storetest.Hangs} {
			faulty.Set(mode)
			r.edit("a", func(a *agent) { a.view.Ready = true })
			servicetest.Advance(time.Minute)
			queue, err := r.engine.Queue(r.Context(), "a", client.OnlyOpen)
			if err != nil || len(a.ledger) > 0 || len(queue) != 1 || !strings.HasPrefix(queue[0].Reason, "nothing is sent: cannot save") {
				r.Fatalf("mode %d: the agent took %q, the queue is %+v, %v", mode, a.ledger, queue, err)
			}
			ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
			_, err = r.engine.Nudge(ctx, "a", client.NudgeRequest{Text: "refused"})
			cancel()
			if !errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrTimeout) {
				r.Errorf("mode %d: a prompt is answered with %v", mode, err)
			}
		}
		faulty.Set(storetest.Works)
		servicetest.Advance(time.Minute)
		r.want(sent.ID, client.ReceiptConsumed)
		faulty.Set(storetest.LosesAnswers)
		lost, err := r.engine.Nudge(r.Context(), "a", client.NudgeRequest{Text: "y"})
		if err != nil {
			r.Errorf("a prompt that is kept is answered with %v", err)
		}
		servicetest.Advance(time.Minute)
		faulty.Set(storetest.Works)
		servicetest.Advance(time.Minute)
		r.want(lost.ID, client.ReceiptConsumed)
		if !slices.Equal(a.ledger, []string{"x", "y"}) {
			r.Errorf("the agent took %q, want x and y once", a.ledger)
		}
	}, a)
}

// The outcome of an attempt is saved when the store works again. Until then the text is not sent again.
func TestOutcomeIsSavedLater(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		faulty := r.city.Store
		a.deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
			faulty.Set(storetest.FailsWrites)
			return a.accept(text), nil
		}
		sent := r.send("a", "x")
		servicetest.Advance(time.Hour)
		r.want(sent.ID, client.ReceiptInjected)
		faulty.Set(storetest.Works)
		servicetest.Advance(time.Minute)
		r.want(sent.ID, client.ReceiptConsumed)
		if !slices.Equal(a.ledger, []string{"x"}) {
			r.Errorf("the agent took %q", a.ledger)
		}
	}, a)
}

// An engine without work does not call the store.
func TestIdleEngineDoesNotUseTheStore(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		faulty := r.city.Store
		r.send("a", "x")
		synctest.Wait()
		before := faulty.Writes()
		for range 1000 {
			r.engine.SessionChanged("s-a")
			servicetest.Advance(time.Minute)
		}
		if n := faulty.Writes() - before; n > 0 {
			r.Errorf("an idle engine made %d writes", n)
		}
	}, newAgent("a"))
}

// The outcome of an attempt is known, and the store still fails while the engine stops. The outcome is saved,
// and the next engine does not request it.
func TestOutcomeIsSavedAtTheEnd(t *testing.T) {
	for _, heals := range []time.Duration{time.Second, 6 * time.Second} { // before and after the end of grace
		a := newAgent("a")
		inVirtualTime(t, func(r *engineTest) {
			faulty := r.city.Store
			a.deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
				faulty.Set(storetest.FailsWrites)
				if heals > grace { // it runs while the engine stops
					<-time.After(3 * time.Second)
				}
				return a.accept(text), nil
			}
			sent := r.send("a", "x")
			synctest.Wait()
			time.AfterFunc(heals, func() { faulty.Set(storetest.Works) })
			r.city.Stop()
			if kept, err := faulty.Receipt(r.Context(), sent.ID); err != nil || kept.State != prompt.Submitted {
				r.Errorf("healed after %s the receipt is kept as %s, %v", heals, kept.State, err)
			}
			a.deliver = nil
			r.startProcess()
			r.want(sent.ID, client.ReceiptConsumed)
			if len(a.ledger) != 1 {
				r.Errorf("the agent took %q", a.ledger)
			}
		}, a)
	}
}

// grace is the engine's time limit for a running operation when it stops.
const grace = 5 * time.Second

// The TTL of a prompt ends during an attempt. The prompt expires only with proof that the agent did not accept
// it.
func TestTimePassesDuringAnAttempt(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(a *agent, text string) (runtime.Outcome, error)
		want string
		took int
	}{
		{"taken", func(a *agent, text string) (runtime.Outcome, error) { return a.accept(text), nil }, client.ReceiptConsumed, 1},
		{"not a byte was sent", func(*agent, string) (runtime.Outcome, error) {
			return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy}, nil
		}, client.ReceiptExpired, 0},
		{"taken back", func(a *agent, text string) (runtime.Outcome, error) {
			a.line = text
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, nil
		}, client.ReceiptExpired, 0},
		{"outcome unknown", func(*agent, string) (runtime.Outcome, error) {
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, nil
		}, client.ReceiptUnconfirmed, 0},
		{"it fails", func(*agent, string) (runtime.Outcome, error) {
			return runtime.Outcome{}, errors.New("the connection broke")
		}, client.ReceiptUnconfirmed, 0},
	} {
		a := newAgent("a")
		inVirtualTime(t, func(r *engineTest) {
			a.deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
				<-time.After(time.Minute)
				a.mu.Lock()
				defer a.mu.Unlock()
				return c.end(a, text)
			}
			sent := r.send("a", "x", func(q *client.NudgeRequest) { q.TTL = 10 * time.Second })
			servicetest.Advance(30 * time.Second)
			r.want(sent.ID, client.ReceiptInjected)
			servicetest.Advance(time.Minute)
			got := r.want(sent.ID, c.want)
			injected := slices.ContainsFunc(got.Steps, func(s client.ReceiptStep) bool { return s.State == client.ReceiptInjected })
			if len(a.ledger) != c.took || got.Attempts != 1 || !injected {
				r.Errorf("%s: the agent took %q in %d attempts; steps %v", c.name, a.ledger, got.Attempts, got.Steps)
			}
		}, a)
	}
}

// A person types, and the snapshot does not show that yet: no turn is interrupted until the typing
// has stopped for a while.
func TestUrgentPromptWaitsForAPersonWhoTypes(t *testing.T) {
	a := newAgent("a")
	interrupted := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.interrupted
	}
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) {
			a.view.Activity.State, a.view.Attached, a.typed = runtime.ActivityBusy, 1, time.Now()
		})
		a.deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.view.Activity.State == runtime.ActivityBusy {
				return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy}, nil
			}
			return a.accept(text), nil
		}
		sent := r.send("a", "stop that", func(q *client.NudgeRequest) { q.Priority = "urgent" })
		for range 10 {
			servicetest.Advance(2 * time.Second)
			r.edit("a", func(a *agent) { a.typed = time.Now() })
			r.want(sent.ID, client.ReceiptQueued)
			if interrupted() > 0 {
				r.Fatal("the turn was interrupted while a person typed")
			}
		}
		servicetest.Advance(10 * time.Second)
		r.want(sent.ID, client.ReceiptConsumed)
		if n := interrupted(); n != 1 {
			r.Errorf("it was interrupted %d times", n)
		}
	}, a)
}
