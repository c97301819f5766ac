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
	"gascity/internal/domain/session"
	"gascity/internal/server/controlapi"
	"gascity/internal/service/prompts"
	"gascity/runtime"
	"gascity/test/servicetest"
)

var _ controlapi.Prompts = (*prompts.Engine)(nil)

func TestPromptIsDeliveredOnceAndConsumed(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		sent := r.send("a", "hello", func(q *client.NudgeRequest) { q.Source = "tester" })
		synctest.Wait()
		got := r.want(sent.ID, client.ReceiptConsumed)
		if got.Evidence != "composer_emptied+busy" || got.Attempts != 1 || got.Instance != r.agents["a"].view.Instance {
			r.Errorf("the receipt is %+v", got)
		}
		var steps []string
		for _, s := range got.Steps {
			steps = append(steps, s.State)
		}
		if want := []string{"accepted", "queued", "injected", "submitted", "consumed"}; !slices.Equal(steps, want) {
			r.Errorf("its steps are %v, want %v", steps, want)
		}
		if want := []string{"prompt.accepted", "prompt.submitted", "prompt.consumed"}; !slices.Equal(r.kinds(sent.ID), want) {
			r.Errorf("its events are %v, want %v", r.kinds(sent.ID), want)
		}
		if l := r.agents["a"].ledger; !slices.Equal(l, []string{"hello"}) {
			r.Errorf("the agent took %q", l)
		}
	}, newAgent("a"))
}

func TestSameKeyIsOnePrompt(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		key := func(q *client.NudgeRequest) { q.Key = "k" }
		first := r.send("a", "one", key)
		if again := r.send("a", "one", key); again.ID != first.ID {
			r.Errorf("the key made %s and %s", first.ID, again.ID)
		}
		synctest.Wait()
		r.crash()
		r.edit("a", func(a *agent) { a.end(client.StateFailed) })
		if again := r.send("a", "one", key); again.ID != first.ID || again.State != client.ReceiptConsumed {
			r.Errorf("after a crash and the agent's end the key made %+v, want the receipt of %s", again, first.ID)
		}
		if l := r.agents["a"].ledger; len(l) != 1 {
			r.Errorf("the agent took %q", l)
		}
	}, newAgent("a"))
}

func TestOrderAndPosition(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.view.Ready = false })
		for _, p := range []string{"n1", "n2", "u1:urgent", "s1:system", "n3", "u2:urgent", "s2:system"} {
			text, priority, _ := strings.Cut(p, ":")
			r.send("a", text, func(q *client.NudgeRequest) { q.Priority = priority })
		}
		synctest.Wait()
		queue, err := r.engine.Queue(r.Context(), "a", client.OnlyOpen)
		var texts []string
		for i, q := range queue {
			texts = append(texts, q.Text)
			if q.Position != i+1 || q.State != client.ReceiptQueued {
				r.Errorf("%s is %s at %d, want queued at %d", q.Text, q.State, q.Position, i+1)
			}
		}
		want := []string{"s1", "s2", "u1", "u2", "n1", "n2", "n3"}
		if err != nil || !slices.Equal(texts, want) || queue[0].Reason != "the agent is starting" {
			r.Errorf("the queue is %v (%q), %v; want %v", texts, queue[0].Reason, err, want)
		}
		servicetest.Advance(time.Hour)
		r.edit("a", func(a *agent) { a.view.Ready = true })
		synctest.Wait()
		if l := r.agents["a"].ledger; !slices.Equal(l, want) {
			r.Errorf("the agent took %v, want %v", l, want)
		}
	}, newAgent("a"))
}

func TestEditAndCancelWhileItWaits(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.view.Activity.State = runtime.ActivityWaiting })
		first, second, third := r.send("a", "first"), r.send("a", "second"), r.send("a", "third")
		text, priority := "changed", "system"
		got, err := r.engine.EditPrompt(r.Context(), third.ID, client.EditRequest{Text: &text, Priority: &priority})
		if err != nil || got.Text != text || got.Position != 1 || got.Bytes != len(text) {
			r.Errorf("the edit made %+v, %v", got, err)
		}
		empty := ""
		if _, err := r.engine.EditPrompt(r.Context(), third.ID, client.EditRequest{Text: &empty}); !errors.Is(err, client.ErrInvalid) {
			r.Errorf("an edit to nothing is %v, want invalid", err)
		}
		if got, err := r.engine.CancelPrompt(r.Context(), first.ID); err != nil || got.State != client.ReceiptCancelled {
			r.Errorf("the withdrawal is %+v, %v", got, err)
		}
		r.edit("a", func(a *agent) { a.view.Activity.State = runtime.ActivityIdle })
		synctest.Wait()
		if l := r.agents["a"].ledger; !slices.Equal(l, []string{"changed", "second"}) {
			r.Errorf("the agent took %v", l)
		}
		for _, id := range []string{first.ID, second.ID} {
			if _, err := r.engine.CancelPrompt(r.Context(), id); !errors.Is(err, client.ErrRefused) {
				r.Errorf("a withdrawal too late is %v, want refused", err)
			}
			if _, err := r.engine.EditPrompt(r.Context(), id, client.EditRequest{Text: &text}); !errors.Is(err, client.ErrRefused) {
				r.Errorf("an edit too late is %v, want refused", err)
			}
		}
		if _, err := r.engine.CancelPrompt(r.Context(), "none"); !errors.Is(err, client.ErrNotFound) {
			r.Errorf("an unknown receipt is %v, want not found", err)
		}
	}, newAgent("a"))
}

func TestTargetsThatRefusePrompts(t *testing.T) {
	for name, edit := range map[string]func(*agent){
		"draining":    func(a *agent) { a.view.Draining = true },
		"suspended":   func(a *agent) { a.view.Desired = "suspended" },
		"held":        func(a *agent) { a.view.Hold.Kind = session.HoldSuspend },
		"quarantined": func(a *agent) { a.end(client.StateQuarantined) },
		"failed":      func(a *agent) { a.end(client.StateFailed) },
		"absent":      func(a *agent) { a.view.Desired = "absent" },
	} {
		inVirtualTime(t, func(r *engineTest) {
			r.edit("a", edit)
			if _, err := r.engine.Nudge(r.Context(), "a", client.NudgeRequest{Text: "x"}); !errors.Is(err, client.ErrRefused) {
				r.Errorf("%s: %v, want refused", name, err)
			}
			if open, err := r.store.OpenReceipts(r.Context()); err != nil || len(open) > 0 {
				r.Errorf("%s: %d receipts are kept, %v", name, len(open), err)
			}
		}, newAgent("a"))
	}
	inVirtualTime(t, func(r *engineTest) {
		_, err := r.engine.Nudge(r.Context(), "nobody", client.NudgeRequest{Text: "x"})
		if !errors.Is(err, client.ErrNotFound) {
			r.Errorf("unknown agent: %v, want not found", err)
		}
		_, err = r.engine.Nudge(r.Context(), "a", client.NudgeRequest{Text: "x", Instance: "another"})
		if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "stale instance") {
			r.Errorf("another instance: %v, want stale instance", err)
		}
		for _, req := range []client.NudgeRequest{
			{},
			{Text: "\xff"},
			{Text: strings.Repeat("x", 1<<20+1)},
			{Text: "x", Files: []string{"relative"}},
			{Text: "x", Files: []string{"/does/not/exist"}},
			{Text: "x", Priority: "high"},
			{Text: "x", TTL: -1},
			{Text: "x", Wait: "queued"},
		} {
			if _, err := r.engine.Nudge(r.Context(), "a", req); !errors.Is(err, client.ErrInvalid) {
				r.Errorf("%.60q %v %s %s: %v, want invalid", req.Text, req.Files, req.Priority, req.Wait, err)
			}
		}
	}, newAgent("a"))
}

func TestSleepingAgentIsWoken(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.end(client.StateAsleep) })
		sent := r.send("a", "wake up")
		synctest.Wait()
		r.want(sent.ID, client.ReceiptConsumed)
		if n := r.agents["a"].woken; n != 1 {
			r.Errorf("it was woken %d times", n)
		}
	}, newAgent("a"))
}

// A prompt starts a member that its pool does not need, like a sleeping agent, also while it is stopping. It
// does not start a one-shot agent that has finished.
func TestUnneededPoolMemberIsStarted(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) {
			a.end(client.StateStopping)
			a.view.Desired, a.view.Surplus = "stopped", true
		})
		sent := r.send("a", "come")
		servicetest.Advance(time.Minute)
		r.want(sent.ID, client.ReceiptQueued)
		r.edit("a", func(a *agent) { a.view.State = client.StateStopped })
		synctest.Wait()
		r.want(sent.ID, client.ReceiptConsumed)
		if n := r.agents["a"].woken; n != 1 {
			r.Errorf("it was started %d times", n)
		}
		r.edit("a", func(a *agent) {
			a.end(client.StateStopped)
			a.view.Surplus, a.view.Reason = false, "it has finished"
		})
		_, err := r.engine.Nudge(r.Context(), "a", client.NudgeRequest{Text: "x"})
		if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "it has finished") || !strings.Contains(err.Error(), "gc explain a") {
			r.Errorf("one that has finished: %v, want refused with the reason and the remedy", err)
		}
	}, newAgent("a"))
}

// Nothing is sent to a session of unknown state. Its prompts end only when they expire.
func TestNothingIsSentInAnUnknownState(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		bound := r.send("a", "before")
		synctest.Wait()
		r.want(bound.ID, client.ReceiptConsumed)
		r.edit("a", func(a *agent) { a.view.Unknown = "the shim does not answer"; a.view.Running = false })
		held := r.send("a", "held")
		short := r.send("a", "short", func(q *client.NudgeRequest) { q.TTL = time.Minute })
		servicetest.Advance(time.Hour)
		if got := r.want(held.ID, client.ReceiptQueued); !strings.Contains(got.Reason, "the shim does not answer") || got.Attempts != 0 {
			r.Errorf("it waits because of %q after %d attempts", got.Reason, got.Attempts)
		}
		r.want(short.ID, client.ReceiptExpired)
		r.edit("a", func(a *agent) { a.view.Unknown = ""; a.view.Running = true })
		synctest.Wait()
		r.want(held.ID, client.ReceiptConsumed)
	}, newAgent("a"))
}

// A prompt is for the instance that ran, for one that resumes its conversation, or, if the sender allows it,
// for any instance.
func TestPromptsAndOtherInstances(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.view.Ready = false })
		plain := r.send("a", "plain")
		successor := r.send("a", "successor", func(q *client.NudgeRequest) { q.Successor = true })
		r.edit("a", func(a *agent) { a.view.Conversation.ID = "talk" })
		talk := r.send("a", "talk")
		only := r.send("a", "only", func(q *client.NudgeRequest) { q.Instance = r.agents["a"].view.Instance })
		r.edit("a", func(a *agent) { a.end(client.StateStopped) })
		next := r.send("a", "next")
		synctest.Wait()
		r.want(plain.ID, client.ReceiptDead)
		r.want(only.ID, client.ReceiptDead)
		r.want(successor.ID, client.ReceiptQueued)
		r.want(talk.ID, client.ReceiptQueued)
		r.edit("a", func(a *agent) { a.start() }) // the record still names the conversation
		synctest.Wait()
		for _, id := range []string{successor.ID, talk.ID, next.ID} {
			r.want(id, client.ReceiptConsumed)
		}
		if l := r.agents["a"].ledger; !slices.Equal(l, []string{"successor", "talk", "next"}) {
			r.Errorf("the successor took %v", l)
		}
		if kinds := r.kinds(plain.ID); !slices.Contains(kinds, "prompt.dead") {
			r.Errorf("the sender received %v", kinds)
		}
	}, newAgent("a"))
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.view.Ready, a.view.Conversation.ID = false, "talk" })
		talk := r.send("a", "talk")
		r.edit("a", func(a *agent) { a.view.Conversation.ID = "another"; a.start() })
		synctest.Wait()
		r.want(talk.ID, client.ReceiptDead)
		if l := r.agents["a"].ledger; len(l) > 0 {
			r.Errorf("another conversation got %v", l)
		}
	}, newAgent("a"))
}

// The snapshot is old: the driver refuses the other instance.
func TestStaleSnapshotReachesNoOtherInstance(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		a.deliver = func(_ context.Context, a *agent, _ string) (runtime.Outcome, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.deliver = nil
			a.start()
			return runtime.Outcome{State: runtime.OutcomeAbsent}, &runtime.Error{Op: "deliver", Session: a.name, Err: runtime.ErrStaleInstance}
		}
		plain := r.send("a", "plain")
		synctest.Wait()
		r.want(plain.ID, client.ReceiptDead)
		if len(a.ledger) > 0 {
			r.Errorf("the successor took %v", a.ledger)
		}
	}, a)
}

func TestRemovedAgent(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.view.Ready = false })
		sent := r.send("a", "x", func(q *client.NudgeRequest) { q.Successor = true })
		synctest.Wait()
		gone := r.agents["a"]
		delete(r.agents, "a")
		r.engine.SessionChanged("s-a")
		servicetest.Advance(5 * time.Second) // a controller that just started may not know it yet
		r.want(sent.ID, client.ReceiptQueued)
		r.agents["a"] = gone
		r.engine.SessionChanged("s-a")
		servicetest.Advance(time.Hour)
		r.want(sent.ID, client.ReceiptQueued)
		delete(r.agents, "a")
		r.engine.SessionChanged("s-a")
		servicetest.Advance(11 * time.Second)
		r.want(sent.ID, client.ReceiptDead)
		if kinds := r.kinds(sent.ID); !slices.Contains(kinds, "prompt.dead") {
			r.Errorf("the sender received %v", kinds)
		}
	}, newAgent("a"))
}

// Prompts for a busy agent are tried at the end of its turn and in between, without a limit. A refusal does
// not count.
func TestBusyAgentGetsAttempts(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		a.view.Activity.State = runtime.ActivityBusy
		a.deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.view.Activity.State == runtime.ActivityBusy {
				return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy}, nil
			}
			return a.accept(text), nil
		}
		sent := r.send("a", "x")
		servicetest.Advance(10 * time.Minute)
		got := r.want(sent.ID, client.ReceiptQueued)
		if got.Attempts < 10 || got.Attempts > 100 || !strings.Contains(got.Reason, "busy") || len(got.Steps) > 4 {
			r.Errorf("after 10 busy minutes there are %d attempts, %q, steps %v", got.Attempts, got.Reason, got.Steps)
		}
		began := time.Now()
		r.edit("a", func(a *agent) { a.view.Activity.State = runtime.ActivityIdle })
		done, err := r.engine.Receipt(r.Context(), sent.ID, client.ReceiptConsumed)
		if err != nil || done.State != client.ReceiptConsumed || time.Since(began) > time.Second {
			r.Errorf("%s after its turn it is %s, %v", time.Since(began), done.State, err)
		}
	}, a)
}

// A normal prompt waits for the reported end of the turn, a system prompt does not. During a turn that never
// ends the prompt is tried, too.
func TestNormalWaitsForTheEndOfATurn(t *testing.T) {
	a, endless := newAgent("a"), newAgent("endless")
	inVirtualTime(t, func(r *engineTest) {
		for _, a := range []*agent{a, endless} {
			a.view.Activity = session.Activity{State: runtime.ActivityBusy, Confidence: session.ConfidenceCertain, Since: time.Now()}
		}
		last, lost := r.send("a", "normal"), r.send("endless", "normal")
		first := r.send("a", "system", func(q *client.NudgeRequest) { q.Priority = "system" })
		servicetest.Advance(20 * time.Minute)
		r.want(first.ID, client.ReceiptConsumed)
		got := r.want(last.ID, client.ReceiptQueued)
		if got.Attempts != 0 || a.interrupted != 0 || !slices.Equal(a.ledger, []string{"system"}) {
			r.Errorf("during the turn there were %d attempts and %d interrupts, it took %v", got.Attempts, a.interrupted, a.ledger)
		}
		began := time.Now()
		r.edit("a", func(a *agent) { a.view.Activity.State = runtime.ActivityIdle })
		done, err := r.engine.Receipt(r.Context(), last.ID, client.ReceiptConsumed)
		if err != nil || done.State != client.ReceiptConsumed || time.Since(began) > time.Second {
			r.Errorf("%s after the turn it is %s, %v", time.Since(began), done.State, err)
		}
		servicetest.Advance(10 * time.Minute)
		r.want(lost.ID, client.ReceiptConsumed)
	}, a, endless)
}

// Prompts wait for a person's draft, and are sent soon after it.
func TestPromptWaitsForADraft(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		a.view.Attached, a.line = 1, "a person's draft"
		a.deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.line != "" {
				return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedDraft}, nil
			}
			return a.accept(text), nil
		}
		sent := r.send("a", "x")
		servicetest.Advance(time.Hour)
		r.want(sent.ID, client.ReceiptQueued)
		a.mu.Lock()
		a.line = ""
		a.mu.Unlock()
		servicetest.Advance(2 * time.Second)
		r.want(sent.ID, client.ReceiptConsumed)
	}, a)
}

func TestUrgentInterrupts(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		a.view.Activity.State = runtime.ActivityBusy
		sent := r.send("a", "stop that", func(q *client.NudgeRequest) { q.Priority = "urgent" })
		synctest.Wait()
		got := r.want(sent.ID, client.ReceiptConsumed)
		reported := slices.ContainsFunc(got.Steps, func(s client.ReceiptStep) bool { return strings.Contains(s.Detail, "its turn has ended") })
		if a.interrupted != 1 || !reported {
			r.Errorf("it was interrupted %d times, steps %v", a.interrupted, got.Steps)
		}
		a.view.Activity.State = runtime.ActivityBusy
		r.send("a", "by the way")
		r.send("a", "of the system", func(q *client.NudgeRequest) { q.Priority = "system" })
		synctest.Wait()
		if a.interrupted != 1 {
			r.Errorf("others interrupt too: %d", a.interrupted)
		}
	}, a)
}

// An urgent prompt right after an accepted one waits until the start of the turn is observed: the known
// activity is older than the first prompt.
func TestUrgentPromptWaitsForTheTurn(t *testing.T) {
	urgent := func(q *client.NudgeRequest) { q.Priority = "urgent" }
	read := func(r *engineTest, activity runtime.Activity) {
		r.edit("a", func(a *agent) {
			a.view.Activity.State, a.view.Activity.Since, a.view.ReadAt = activity, time.Now(), time.Now()
		})
	}
	for name, test := range map[string]struct {
		then        func(r *engineTest) // after the agent accepted the first prompt and the queue the urgent one
		interrupted int
	}{
		"the turn begins": {func(r *engineTest) { servicetest.Advance(200 * time.Millisecond); read(r, runtime.ActivityBusy) }, 1},
		"no turn begins": {func(r *engineTest) {
			servicetest.Advance(200 * time.Millisecond)
			read(r, runtime.ActivityIdle)
			servicetest.Advance(time.Second)
		}, 0},
		"no look":            {func(*engineTest) { servicetest.Advance(5 * time.Second) }, 0},
		"it is seen at once": {func(r *engineTest) { read(r, runtime.ActivityBusy) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(r *engineTest) {
				read(r, runtime.ActivityIdle)
				servicetest.Advance(time.Minute)
				first := r.send("a", "work")
				synctest.Wait()
				r.want(first.ID, client.ReceiptConsumed)
				sent := r.send("a", "stop that", urgent)
				synctest.Wait()
				if got := r.want(sent.ID, client.ReceiptQueued); !strings.Contains(got.Reason, "began a turn") {
					r.Errorf("it waits because of %q", got.Reason)
				}
				test.then(r)
				synctest.Wait()
				r.want(sent.ID, client.ReceiptConsumed)
				if a := r.agents["a"]; a.interrupted != test.interrupted || !slices.Equal(a.ledger, []string{"work", "stop that"}) {
					r.Errorf("it was interrupted %d times, want %d, and took %q", a.interrupted, test.interrupted, a.ledger)
				}
			}, newAgent("a"))
		})
	}
}

// Without another signal, the end of a turn proves that the agent has processed the prompt.
func TestConsumedByTurnBoundary(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		a.deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
			out := a.accept(text)
			out.Evidence = "composer_emptied"
			return out, nil
		}
		a.view.Activity.State = runtime.ActivityBusy
		sent := r.send("a", "x")
		servicetest.Advance(time.Hour)
		r.want(sent.ID, client.ReceiptSubmitted)
		r.edit("a", func(a *agent) {
			a.view.Activity.State, a.view.Activity.Since, a.view.ReadAt = runtime.ActivityIdle, time.Now(), time.Now()
		})
		servicetest.Advance(time.Second)
		r.want(sent.ID, client.ReceiptConsumed)
		second := r.send("a", "y")
		synctest.Wait()
		r.edit("a", func(a *agent) { a.end(client.StateStopped) })
		synctest.Wait()
		got, err := r.engine.Receipt(t.Context(), second.ID, client.ReceiptConsumed)
		if err != nil || got.State != client.ReceiptSubmitted || !got.Closed || got.Reason == "" {
			t.Errorf("the receipt is %s, closed %v (%s), %v; want it submitted, closed and why", got.State, got.Closed, got.Reason, err)
		}
	}, a)
}

// If the turn ended before the submission was reported, no change follows: the engine requests a reading.
func TestConsumedWithoutAnObservedTurn(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		a.deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
			out := a.accept(text)
			out.Evidence = "composer_emptied"
			return out, nil
		}
		a.view.Activity.State, a.view.ReadAt = runtime.ActivityIdle, time.Now()
		sent := r.send("a", "x")
		servicetest.Advance(2 * time.Second)
		r.want(sent.ID, client.ReceiptConsumed)
	}, a)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.view.Ready = false })
		ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		got, err := r.engine.Nudge(ctx, "a", client.NudgeRequest{Text: "x", Wait: client.ReceiptSubmitted})
		if !errors.Is(err, client.ErrTimeout) || got.State != client.ReceiptQueued {
			r.Errorf("the wait ended with %s, %v", got.State, err)
		}
		r.edit("a", func(a *agent) { a.view.Ready = true })
		if got, err := r.engine.Receipt(r.Context(), got.ID, client.ReceiptConsumed); err != nil || got.State != client.ReceiptConsumed {
			r.Errorf("the second wait ended with %s, %v", got.State, err)
		}
	}, newAgent("a"))
}
