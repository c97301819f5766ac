package inject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/runtime"
)

// TestDeliveriesByNameEnd is TestDeliveriesIntoAnyBoxEnd for deliveries in the process that owns the terminal. Their
// clients are killed at any moment, cancel, or send the same request again, also after they were killed. The owner is
// killed with its agent, and what it has saved is compared with what the agent consumed.
func TestDeliveriesByNameEnd(t *testing.T) { checkProperty(t, propertyRunByName) }

func propertyRunByName(t *testing.T, seed uint64, spoil *mutation) (faults []string) {
	synctest.Test(t, func(t *testing.T) {
		p := newScenario(t, seed, spoil)
		p.byName = true
		faults = p.run()
		p.requests.Wait()
		time.Sleep(10 * time.Second) // what was begun ends
	})
	return faults
}

// TestThePropertyFindsDefectsOfNames takes away what names are for, and expects the property test to find it.
func TestThePropertyFindsDefectsOfNames(t *testing.T) {
	for name, spoil := range map[string]mutation{"a late request has no name": {unnamed: true}, "a name is not saved": {unsaved: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5000) {
				if faults := propertyRunByName(t, seed, &spoil); len(faults) > 0 {
					t.Logf("found after %d runs: %s", seed+1, faults[0])
					return
				}
			}
			t.Error("5000 runs have not found it")
		})
	}
}

// owner is the process that owns the terminal of one instance.
type owner struct {
	*Runner
	right chan struct{} // to deliver prompts

	mu    sync.Mutex
	dead  bool
	saved []Record
}

// promptKey is the key of the prompt's number in a context.
type promptKey struct{}

// newOwner returns the owner of the present instance's terminal.
func newOwner(p *scenario) *owner {
	o, in := &owner{right: make(chan struct{}, 1)}, p.instance
	o.Runner = &Runner{
		Acquire: func(ctx context.Context, begin func(context.Context) error) (Lease, func(), error) {
			select {
			case o.right <- struct{}{}:
			case <-ctx.Done():
				return nil, nil, context.Cause(ctx)
			}
			n, _ := ctx.Value(promptKey{}).(int)
			l := &boxLease{box: in.box, turn: in.turn, book: in.book, id: n, hold: in.hold, dies: -1, marks: in.marks, begin: begin}
			return l, func() { l.close(); <-o.right }, nil
		},
		Save: func(records []Record) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			switch {
			case o.dead:
				return errDead
			case p.spoil != nil && p.spoil.unsaved:
				return nil
			}
			o.saved = slices.Clone(records)
			for i, r := range o.saved { // the file is a copy
				if r.Outcome != nil {
					out := *r.Outcome
					o.saved[i].Outcome = &out
				}
			}
			return nil
		},
	}
	return o
}

// kill ends the process. Nothing is saved any more.
func (o *owner) kill() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dead = true
}

// name returns the name of an attempt.
func (p *scenario) name(id string, attempt int) string {
	if p.spoil != nil && p.spoil.unnamed {
		return ""
	}
	return fmt.Sprint(id, " ", attempt)
}

// request requests a delivery for a client that may be killed.
func (p *scenario) request(n, attempt int, faulty bool, id string, prompt Prompt) (runtime.Outcome, error) {
	name, owner := p.name(id, attempt), p.owner
	client, kill := context.WithCancel(p.t.Context())
	req := &Request{Key: name, Name: name, ID: id, Prompt: prompt, Rules: p.rules}
	type result struct {
		out runtime.Outcome
		err error
	}
	answered := make(chan result, 1)
	deliver := func(client context.Context) {
		out, err := owner.Deliver(context.WithValue(p.t.Context(), promptKey{}, n), client, req)
		select {
		case answered <- result{out, err}:
		default:
		}
	}
	p.requests.Go(func() { deliver(client) })
	fault, limit := 0, p.random.IntN([]int{5, 100, 1000, 10_000}[p.random.IntN(4)])
	if faulty {
		fault = p.random.IntN(8)
	}
	moment := time.NewTimer(time.Duration(limit) * time.Millisecond)
	defer moment.Stop()
	if fault >= 1 && fault <= 4 {
		select {
		case r := <-answered:
			kill()
			return r.out, r.err
		case <-moment.C:
		}
	}
	switch fault {
	case 1, 2: // the client is killed
		p.logf("the client of %s is killed after %d ms", name, limit)
		kill()
		if fault == 2 { // and its request arrives once more
			late := time.Duration(p.random.IntN(20_000)) * time.Millisecond
			p.requests.Go(func() {
				time.Sleep(late)
				_, _ = owner.Deliver(context.WithValue(p.t.Context(), promptKey{}, n), p.t.Context(), req)
			})
		}
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the client died", Reason: runtime.RefusedUnready}, errDead
	case 3: // the client cancels
		p.logf("the client of %s cancels after %d ms", name, limit)
		owner.Cancel(name)
	case 4: // another client sends the same
		p.requests.Go(func() { deliver(p.t.Context()) })
	default:
	}
	r := <-answered
	kill()
	return r.out, r.err
}

// ask asks for the outcome of a delivery for a client that may be killed.
func (p *scenario) ask(_, attempt int, faulty bool, id string) (runtime.Outcome, error) {
	ctx := p.t.Context()
	if faulty && p.random.IntN(3) == 0 {
		limited, cancel := context.WithTimeoutCause(ctx, time.Duration(p.random.IntN(3000))*time.Millisecond, errDead)
		defer cancel()
		ctx = limited
	}
	out, err := p.owner.Resolve(ctx, p.name(id, attempt), id, p.rules)
	if errors.Is(err, errDead) {
		out = runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the client died", Reason: runtime.RefusedUnready}
	}
	return out, err
}

// gone returns how a prompt ended whose agent has exited. What a killed owner has saved must fit what the agent consumed.
func (p *scenario) gone(n, attempt int) string {
	p.owner.mu.Lock()
	defer p.owner.mu.Unlock()
	if !p.byName || !p.owner.dead {
		return "gone"
	}
	out, begun := OutcomeOf(p.owner.saved, fmt.Sprintf("d%d %d", n, attempt))
	switch count := p.box.count(n); {
	case count > 0 && (!begun || out.State == runtime.OutcomeRefused && !p.persons):
		p.fault("prompt %d was consumed, and the owner has saved %+v, %v", n, out, begun)
	case count == 0 && out.State == runtime.OutcomeSubmitted && !p.persons:
		p.fault("prompt %d was not consumed, and the owner has saved %+v", n, out)
	}
	return "gone"
}

// A name that has begun is not begun again, a name that was refused before its first byte can be used again, and a name whose
// outcome was asked for before it began never begins.
func TestNamesOfDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newScenario(t, 1, nil)
		p.options.NoPaste = true
		p.start()
		deliver := func(name, text string) runtime.Outcome {
			t.Helper()
			out, err := p.owner.Deliver(context.WithValue(t.Context(), promptKey{}, 1), t.Context(), &Request{
				Key: name, Name: name, ID: name, Prompt: Prompt{Text: text}, Rules: p.rules,
			})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if out := deliver("a 1", "P1 one\nof two lines"); out.State != runtime.OutcomeRefused {
			t.Fatalf("%+v, want it refused before its first byte", out)
		}
		first := deliver("a 1", "P1 one")
		if first.State != runtime.OutcomeSubmitted {
			t.Fatalf("%+v, want it submitted after a refusal", first)
		}
		if again := deliver("a 1", "P1 one"); again.State != first.State || again.Evidence != first.Evidence || p.box.count(1) != 1 {
			t.Errorf("again: %+v, consumed %d times, want the outcome of the first", again, p.box.count(1))
		}
		out, err := p.owner.Resolve(t.Context(), "b 1", "b 1", p.rules)
		if err != nil || !out.Unsent {
			t.Errorf("%+v, %v, want that nothing was sent", out, err)
		}
		if late := deliver("b 1", "P1 late"); !late.Unsent || p.box.count(1) != 1 {
			t.Errorf("a late request: %+v, consumed %d times", late, p.box.count(1))
		}
		if len(p.owner.saved) != 1 || p.owner.saved[0].Outcome == nil || p.owner.saved[0].Outcome.State != runtime.OutcomeSubmitted {
			t.Errorf("saved: %+v", p.owner.saved)
		}
		for i := range 3 * maxNames {
			if _, err := p.owner.Resolve(t.Context(), fmt.Sprint("c ", i), "c", p.rules); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(p.owner.named); n != maxNames {
			t.Errorf("%d names are stored, want %d", n, maxNames)
		}
		time.Sleep(time.Minute) // what was begun ends
	})
}

// A delivery whose name cannot be saved sends nothing.
func TestNameThatCannotBeSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newScenario(t, 1, nil)
		p.owner.Save = func([]Record) error { return errors.New("the disk is full") }
		out, err := p.owner.Deliver(t.Context(), t.Context(), &Request{Name: "a 1", ID: "a", Prompt: Prompt{Text: "P1"}, Rules: p.rules})
		if err != nil || !out.Unsent || p.box.line() != "" || len(p.box.taken) > 0 {
			t.Errorf("%+v, %v, the box holds %q, want that nothing was sent", out, err, p.box.line())
		}
		time.Sleep(time.Minute) // what was begun ends
	})
}

// A delivery that waits to begin when its outcome is asked for does not begin afterwards: the next controller got the answer
// that nothing was sent, and sends the prompt again.
func TestADeliveryThatWaitsDoesNotBeginAfterItsOutcomeWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newScenario(t, 1, nil)
		p.options.NoPaste = true
		p.start()
		acquire, late := p.owner.Acquire, make(chan struct{})
		p.owner.Acquire = func(ctx context.Context, begin func(context.Context) error) (Lease, func(), error) {
			if begin != nil {
				<-late // the process is stopped and continued, or gets no processor
				return acquire(ctx, begin)
			}
			return acquire(context.WithoutCancel(ctx), nil) // as the shim does, which grants a free right after the limit, too
		}
		ended := make(chan runtime.Outcome, 1)
		go func() {
			out, err := p.owner.Deliver(context.WithValue(t.Context(), promptKey{}, 1), t.Context(), &Request{
				Key: "k", Name: "a 1", ID: "a", Prompt: Prompt{Text: "P1 one"}, Rules: p.rules,
			})
			if err != nil {
				t.Error(err)
			}
			ended <- out
		}()
		synctest.Wait()
		out, err := p.owner.Resolve(t.Context(), "a 1", "a", p.rules)
		if err != nil || !out.Unsent {
			t.Fatalf("%+v, %v, want that nothing was sent", out, err)
		}
		close(late)
		if out := <-ended; !out.Unsent || p.box.count(1) > 0 {
			t.Errorf("%+v, consumed %d times after it was said that nothing was sent", out, p.box.count(1))
		}
		time.Sleep(time.Minute) // what was begun ends
	})
}

// After Close nothing is saved, not even the outcome of a delivery that runs: the caller removes the folder, and the file could
// appear in the folder of the next session.
func TestNothingIsSavedAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newScenario(t, 1, nil)
		p.options.NoPaste = true
		p.start()
		saves, save := 0, p.owner.Save
		p.owner.Save = func(records []Record) error {
			if saves++; saves == 1 {
				go p.owner.Close()
			}
			return save(records)
		}
		for n, want := range []runtime.OutcomeState{runtime.OutcomeSubmitted, runtime.OutcomeRefused} {
			name := fmt.Sprint("a ", n)
			out, err := p.owner.Deliver(context.WithValue(t.Context(), promptKey{}, n), t.Context(), &Request{
				Key: name, Name: name, ID: name, Prompt: Prompt{Text: fmt.Sprintf("P%d one", n)}, Rules: p.rules,
			})
			if err != nil || out.State != want {
				t.Errorf("%s: %+v, %v, want %s", name, out, err, want)
			}
		}
		if saves != 1 || p.box.count(1) > 0 {
			t.Errorf("saved %d times, consumed %d times", saves, p.box.count(1))
		}
		time.Sleep(time.Minute) // what was begun ends
	})
}
