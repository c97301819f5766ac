package prompts_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/runtime"
	"gascity/worker"
)

// seen makes each attempt of the agent end with the given outcome when the returned function is called.
func seen(a *agent, out runtime.Outcome) (land func()) {
	ends := make(chan struct{}, 100)
	a.deliver = func(ctx context.Context, a *agent, text string) (runtime.Outcome, error) {
		select {
		case <-ends:
		case <-ctx.Done():
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "cut off"}, nil
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if out.State != runtime.OutcomeRefused {
			a.ledger = append(a.ledger, text)
		}
		return out, nil
	}
	return func() { ends <- struct{}{} }
}

var (
	busySeen = runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "composer_emptied+busy"}
	unseen   = runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "no evidence"}
)

// hook reports by a hook that a prompt has started a turn; an empty text reports the end of the
// turn.
func (r *engineTest) hook(text string) {
	r.Helper()
	w := prompt.HookReport{Session: "s-a", Instance: r.agents["a"].view.Instance, Hash: worker.PromptHash(text), At: time.Now()}
	if err := r.engine.RecordHookReport(r.Context(), w); err != nil {
		r.Error(err)
	}
	time.Sleep(time.Millisecond) // of the bubble
	synctest.Wait()
}

// TestHookReportIdentifiesThePrompt: the report makes a receipt submitted, and the end of the turn makes it
// consumed, for any outcome of the attempt.
func TestHookReportIdentifiesThePrompt(t *testing.T) {
	for name, out := range map[string]runtime.Outcome{"the driver has observed it too": busySeen, "the driver has observed nothing": unseen} {
		for _, order := range []string{"land hook end", "hook land end", "hook end land"} {
			if out.State == runtime.OutcomeUnconfirmed && strings.HasPrefix(order, "land") {
				continue // the outcome was not known in time: it stays unconfirmed
			}
			t.Run(name+": "+order, func(t *testing.T) {
				inVirtualTime(t, func(r *engineTest) {
					land := seen(r.agents["a"], out)
					r.hook("the first one, which it was started with")
					r.hook("") // the end of its turn
					sent := r.send("a", "do\tit\n now")
					synctest.Wait()
					for word := range strings.FieldsSeq(order) {
						switch word {
						case "land":
							land()
							synctest.Wait()
						case "hook":
							r.hook("do    it\nnow ")
							if strings.HasPrefix(order, "land") {
								if got := r.want(sent.ID, client.ReceiptSubmitted); got.Evidence != "hook" {
									r.Errorf("its evidence is %q", got.Evidence)
								}
							}
						case "end":
							r.hook("")
						}
					}
					if got := r.want(sent.ID, client.ReceiptConsumed); got.Evidence != "hook+consumed" {
						r.Errorf("its evidence is %q", got.Evidence)
					}
				}, newAgent("a"))
			})
		}
	}
}

// TestHookReportDoesNotOverrideARefusal: a person typed the same text, and no byte of the prompt was sent.
func TestHookReportDoesNotOverrideARefusal(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		land := seen(r.agents["a"], runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready})
		sent := r.send("a", "hello")
		synctest.Wait()
		r.hook("hello")
		land()
		synctest.Wait()
		if got, err := r.engine.Receipt(r.Context(), sent.ID, ""); err != nil || got.State == client.ReceiptSubmitted || got.State == client.ReceiptConsumed {
			r.Errorf("the receipt is %+v, %v", got, err)
		}
	}, newAgent("a"))
}

// TestPromptIsConsumedWithoutAHookReport: after some seconds the outcome of the attempt is enough.
func TestPromptIsConsumedWithoutAHookReport(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		land := seen(r.agents["a"], busySeen)
		r.hook("something else")
		r.hook("")
		sent := r.send("a", "hello")
		land()
		synctest.Wait()
		r.want(sent.ID, client.ReceiptSubmitted)
		time.Sleep(4 * time.Second) // of the bubble
		synctest.Wait()
		if got := r.want(sent.ID, client.ReceiptConsumed); got.Evidence != busySeen.Evidence {
			r.Errorf("its evidence is %q", got.Evidence)
		}
	}, newAgent("a"))
}

// TestPromptWaitsForThePromptOfTheCommandLine: an agent that was started with a prompt is idle for a moment before
// that turn. Another prompt waits until the hook has reported the turn, or a minute has passed.
func TestPromptWaitsForThePromptOfTheCommandLine(t *testing.T) {
	for name, reports := range map[string]bool{"its hook reports": true, "its hook is silent": false} {
		t.Run(name, func(t *testing.T) {
			a := newAgent("a")
			inVirtualTime(t, func(r *engineTest) {
				a.mu.Lock()
				a.opens, a.view.StartedAt = true, time.Now()
				a.mu.Unlock()
				sent := r.send("a", "hello")
				time.Sleep(59 * time.Second) // of the bubble
				if got, err := r.engine.Receipt(r.Context(), sent.ID, ""); err != nil || got.State != client.ReceiptQueued {
					r.Errorf("before its first turn the receipt is %+v, %v", got, err)
				}
				if reports {
					r.hook("the prompt of its command line")
					if got := r.agents["a"].ledger; len(got) > 0 {
						r.Errorf("during the turn that its hook has reported it has taken %q", got)
					}
					r.hook("")
					r.engine.SessionChanged("s-a")
				} else {
					time.Sleep(2 * time.Second) // of the bubble
				}
				synctest.Wait()
				if got := r.agents["a"].ledger; !slices.Equal(got, []string{"hello"}) {
					r.Errorf("it has taken %q, want what waited", got)
				}
			}, a)
		})
	}
}

// TestHookReportsInAnyOrder: reports that are late, repeated, from another instance or about a
// text that a person typed change no receipt. At the end, the prompts that the agent accepted are submitted.
func TestHookReportsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two", "", "typed by a person", "foreign one", "late one", "land"}), 0, 25).Draw(rt, "words")
		out := rapid.SampledFrom([]runtime.Outcome{busySeen, unseen}).Draw(rt, "seen")
		failed := ""
		t.Run("", func(t *testing.T) {
			inVirtualTime(t, func(r *engineTest) {
				failed = anyOrder(r, words, out)
			}, newAgent("a"))
		})
		if failed != "" || t.Failed() {
			rt.Fatalf("%s", failed)
		}
	})
}

// anyOrder sends reports in any order and returns the errors that it found.
func anyOrder(r *engineTest, words []string, out runtime.Outcome) (failed string) {
	began := time.Now()
	time.Sleep(time.Second) // of the bubble
	land := seen(r.agents["a"], out)
	r.hook("before all")
	r.hook("")
	ids := []string{r.send("a", "one").ID, r.send("a", "two").ID}
	synctest.Wait()
	instance := r.agents["a"].view.Instance
	said := map[string]bool{}
	was := map[string]int{}
	for _, word := range append(words, "land", "land") {
		switch word {
		case "land":
			land()
			synctest.Wait()
		case "foreign one":
			_ = r.engine.RecordHookReport(r.Context(), prompt.HookReport{Session: "s-a", Instance: "inc-of-another", Hash: worker.PromptHash("one"), At: time.Now()})
		case "late one":
			_ = r.engine.RecordHookReport(r.Context(), prompt.HookReport{Session: "s-a", Instance: instance, Hash: worker.PromptHash("one"), At: began})
		default:
			for i, text := range []string{"one", "two"} {
				now, _ := r.engine.Receipt(r.Context(), ids[i], "")
				said[ids[i]] = said[ids[i]] || word == text && (now.State == client.ReceiptInjected || now.State == client.ReceiptSubmitted)
			}
			r.hook(word)
		}
		synctest.Wait()
		for _, id := range ids {
			got, err := r.engine.Receipt(r.Context(), id, "")
			rank := slices.Index(rankOf, got.State)
			switch {
			case got.State == client.ReceiptUnconfirmed && !said[id]:
				rank = len(rankOf)
			case err != nil || rank < was[id]:
				return "a receipt went back to " + got.State
			case strings.Contains(got.Evidence, prompt.SignHook) && !said[id]:
				return "a receipt is " + got.State + " by a report that was not about it"
			}
			was[id] = rank
		}
	}
	time.Sleep(8 * time.Second) // of the bubble: the second prompt waits for the hook report of the first
	synctest.Wait()
	if got := strings.Join(r.agents["a"].ledger, " "); got != "one two" {
		return "the agent took " + got
	}
	return ""
}
