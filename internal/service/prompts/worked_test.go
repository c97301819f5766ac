package prompts_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"gascity/client"
	"gascity/runtime"
)

// reportsManually makes the agent accept its prompt when the returned function is called, and report that.
func reportsManually(a *agent) (take func()) {
	taken := make(chan struct{}, 1)
	a.deliver = func(ctx context.Context, a *agent, text string) (runtime.Outcome, error) {
		select {
		case <-taken:
		case <-ctx.Done():
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "nothing was said of it"}, nil
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ledger = append(a.ledger, text)
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "worker"}, nil
	}
	return func() { taken <- struct{}{} }
}

// TestWorkerReportConsumes: a prompt is consumed when its worker reports it, and not because the agent
// looks idle. Reports of another instance do not count.
func TestWorkerReportConsumes(t *testing.T) {
	t.Run("after it was taken", func(t *testing.T) {
		inVirtualTime(t, func(r *engineTest) {
			take := reportsManually(r.agents["a"])
			instance := r.agents["a"].view.Instance
			sent := r.send("a", "hello")
			synctest.Wait()
			if err := r.engine.Worked(r.Context(), sent.ID, "inc-of-another"); err != nil {
				r.Error(err)
			}
			take()
			synctest.Wait()
			r.want(sent.ID, client.ReceiptSubmitted)
			if err := r.engine.Worked(r.Context(), sent.ID, "inc-of-another"); err != nil {
				r.Error(err)
			}
			r.want(sent.ID, client.ReceiptSubmitted)
			for range 2 {
				if err := r.engine.Worked(r.Context(), sent.ID, instance); err != nil {
					r.Error(err)
				}
			}
			if got := r.want(sent.ID, client.ReceiptConsumed); got.Evidence != "worker+consumed" {
				r.Errorf("its evidence is %q", got.Evidence)
			}
		}, newAgent("a"))
	})
	t.Run("before its taking is known", func(t *testing.T) {
		inVirtualTime(t, func(r *engineTest) {
			take := reportsManually(r.agents["a"])
			sent := r.send("a", "hello")
			synctest.Wait()
			r.want(sent.ID, client.ReceiptInjected)
			if err := r.engine.Worked(r.Context(), sent.ID, r.agents["a"].view.Instance); err != nil {
				r.Error(err)
			}
			take()
			synctest.Wait()
			r.want(sent.ID, client.ReceiptConsumed)
		}, newAgent("a"))
	})
	t.Run("a store that fails is reported", func(t *testing.T) {
		inVirtualTime(t, func(r *engineTest) {
			take := reportsManually(r.agents["a"])
			sent := r.send("a", "hello")
			synctest.Wait()
			take()
			synctest.Wait()
			r.kill()
			if err := r.engine.Worked(r.Context(), sent.ID, r.agents["a"].view.Instance); err == nil {
				r.Error("a report that cannot be saved was accepted")
			}
			r.crash()
			if err := r.engine.Worked(r.Context(), sent.ID, r.agents["a"].view.Instance); err != nil {
				r.Error(err)
			}
			r.want(sent.ID, client.ReceiptConsumed)
		}, newAgent("a"))
	})
}

// rankOf has the states of a receipt in order.
var rankOf = []string{client.ReceiptAccepted, client.ReceiptQueued, client.ReceiptInjected, client.ReceiptSubmitted, client.ReceiptConsumed}

// TestReportsInAnyOrderNeverSetAReceiptBack: with reports at any time, repeated,
// and of other instances, each prompt is accepted once, and each receipt only advances and ends consumed.
func TestReportsInAnyOrderNeverSetAReceiptBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 30).Draw(rt, "words")
		failed := ""
		t.Run("", func(t *testing.T) {
			inVirtualTime(t, func(r *engineTest) {
				take := reportsManually(r.agents["a"])
				one, two := r.send("a", "one"), r.send("a", "two")
				taken := 0
				next := func() {
					if taken++; taken <= 2 {
						take()
					}
				}
				instance := r.agents["a"].view.Instance
				was := map[string]int{}
				check := func() {
					synctest.Wait()
					for _, id := range []string{one.ID, two.ID} {
						got, err := r.engine.Receipt(r.Context(), id, "")
						rank := slices.Index(rankOf, got.State)
						if err != nil || rank < was[id] {
							failed = got.State
						}
						was[id] = rank
					}
				}
				for _, w := range words {
					id, by := []string{one.ID, two.ID, "receipt-of-nobody"}[w%3], instance
					switch w {
					case 5:
						by = "inc-of-another"
					case 2:
						next()
						check()
						continue
					}
					if err := r.engine.Worked(r.Context(), id, by); err != nil {
						r.Error(err)
					}
					check()
				}
				for taken < 2 {
					next()
					check()
				}
				for _, id := range []string{two.ID, one.ID} {
					if err := r.engine.Worked(r.Context(), id, instance); err != nil {
						r.Error(err)
					}
				}
				check()
				r.want(one.ID, client.ReceiptConsumed)
				r.want(two.ID, client.ReceiptConsumed)
				if got := strings.Join(r.agents["a"].ledger, " "); got != "one two" {
					r.Errorf("the agent took %q", got)
				}
			}, newAgent("a"))
		})
		if failed != "" || t.Failed() {
			rt.Fatalf("a receipt went back to %s, or see above", failed)
		}
	})
}
