package prompts_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// hanging is a delivery that types its text and then hangs until ctx ends.
func hanging(ctx context.Context, a *agent, text string) (runtime.Outcome, error) {
	a.mu.Lock()
	a.line = text
	a.deliver = nil
	a.mu.Unlock()
	<-ctx.Done()
	return runtime.Outcome{}, ctx.Err()
}

// A prompt that is cancelled during its delivery is removed from the input box and ends as cancelled. If the
// driver cannot prove that, it ends as unconfirmed within seconds. The next prompt is delivered in both cases.
func TestCancelDuringADelivery(t *testing.T) {
	for name, tt := range map[string]struct {
		settled *runtime.Outcome
		state   string
	}{
		"removed":             {nil, client.ReceiptCancelled},
		"cannot be known":     {&runtime.Outcome{State: runtime.OutcomeUnconfirmed}, client.ReceiptUnconfirmed},
		"cannot be known yet": {&runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedDialog}, client.ReceiptUnconfirmed},
		"accepted meanwhile":  {&runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "hook"}, client.ReceiptSubmitted},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(r *engineTest) {
				r.edit("a", func(a *agent) { a.deliver, a.settled = hanging, tt.settled })
				first, second := r.send("a", "first"), r.send("a", "second")
				servicetest.Advance(time.Second)
				began := time.Now()
				got, err := r.engine.CancelPrompt(r.Context(), first.ID)
				switch took := time.Since(began); {
				case took > 25*time.Second:
					t.Errorf("it took %s", took)
				case tt.state == client.ReceiptSubmitted:
					if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "gc interrupt a") {
						t.Errorf("the cancel of an accepted prompt is %v", err)
					}
				case err != nil || got.State != tt.state || !strings.Contains(got.Reason, "cancelled by its sender"):
					t.Errorf("the cancel is %s (%s), %v; want %s", got.State, got.Reason, err, tt.state)
				}
				servicetest.Advance(10 * time.Second)
				if a := r.find("a"); !slices.Contains(a.ledger, "second") || slices.Contains(a.ledger, "first") {
					t.Errorf("the agent took %q", a.ledger)
				}
				r.want(second.ID, client.ReceiptConsumed)
			}, newAgent("a"))
		})
	}
}

// A cancellation that a controller could not finish is saved with the receipt.
func TestCancelContinuesUnderTheNextController(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.deliver, a.undecided = hanging, 1_000_000 })
		id := r.send("a", "first").ID
		servicetest.Advance(time.Second)
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if _, err := r.engine.CancelPrompt(ctx, id); !errors.Is(err, client.ErrTimeout) {
			t.Errorf("a cancel without an answer is %v", err)
		}
		r.crash()
		servicetest.Advance(25 * time.Second)
		if got := r.want(id, client.ReceiptUnconfirmed); !strings.Contains(got.Reason, "cancelled by its sender") {
			t.Errorf("its reason is %q", got.Reason)
		}
	}, newAgent("a"))
}

// A delivery that continues after its controller has exited is stopped when its prompt is cancelled.
func TestCancelOfADeliveryOfAnEarlierController(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.deliver, a.undecided, a.orphan = hanging, 1_000_000, true })
		id := r.send("a", "first").ID
		servicetest.Advance(time.Second)
		r.crash()
		servicetest.Advance(time.Second)
		if got, err := r.engine.CancelPrompt(r.Context(), id); err != nil || got.State != client.ReceiptCancelled {
			t.Errorf("the cancel is %s (%s), %v", got.State, got.Reason, err)
		}
		if got := r.find("a").ledger; len(got) > 0 {
			t.Errorf("the agent took %q", got)
		}
	}, newAgent("a"))
}

// A retry sends a prompt that has ended as a new prompt that names it. If the first may have arrived, the
// retry needs --force.
func TestRetry(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.promptHold = "held" })
		cancelled := r.send("a", "first", func(q *client.NudgeRequest) { q.Priority = "urgent" })
		if _, err := r.engine.RetryPrompt(r.Context(), cancelled.ID, client.RetryRequest{}); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "needs no retry") {
			t.Errorf("the retry of a prompt that waits is %v", err)
		}
		if _, err := r.engine.CancelPrompt(r.Context(), cancelled.ID); err != nil {
			t.Fatal(err)
		}
		r.edit("a", func(a *agent) { a.promptHold = "" })
		r.crash()
		again, err := r.engine.RetryPrompt(r.Context(), cancelled.ID, client.RetryRequest{Key: "k"})
		if err != nil || again.ID == cancelled.ID || again.RetryOf != cancelled.ID || again.Priority != "urgent" {
			t.Fatalf("the retry is %+v, %v", again, err)
		}
		if same, err := r.engine.RetryPrompt(r.Context(), cancelled.ID, client.RetryRequest{Key: "k"}); err != nil || same.ID != again.ID {
			t.Errorf("the same retry again is %s, %v; want %s", same.ID, err, again.ID)
		}
		servicetest.Advance(10 * time.Second)
		r.want(again.ID, client.ReceiptConsumed)
		if _, err := r.engine.RetryPrompt(r.Context(), again.ID, client.RetryRequest{Force: true}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("the retry of a consumed prompt is %v", err)
		}
		r.edit("a", func(a *agent) {
			a.deliver = func(context.Context, *agent, string) (runtime.Outcome, error) {
				a.deliver = nil
				return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, nil
			}
		})
		perhaps := r.send("a", "perhaps")
		servicetest.Advance(time.Second)
		r.want(perhaps.ID, client.ReceiptUnconfirmed)
		if _, err := r.engine.RetryPrompt(r.Context(), perhaps.ID, client.RetryRequest{}); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "--force") {
			t.Errorf("a retry that may arrive twice is %v", err)
		}
		twice, err := r.engine.RetryPrompt(r.Context(), perhaps.ID, client.RetryRequest{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		servicetest.Advance(10 * time.Second)
		r.want(twice.ID, client.ReceiptConsumed)
		if got := r.find("a").ledger; !slices.Equal(got, []string{"first", "perhaps"}) {
			t.Errorf("the agent took %q", got)
		}
		if _, err := r.engine.RetryPrompt(r.Context(), "p-none", client.RetryRequest{}); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("the retry of nothing is %v", err)
		}
	}, newAgent("a"))
}
