package questions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
	"gascity/runtime"
	"gascity/test/servicetest"
)

func TestPolicyActsAtTheDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		policy Policy
		asked  func(*runtime.PendingInteraction)
		sent   *runtime.InteractionResponse // nil: nothing, it is escalated
		state  string
	}{
		"deny":            {Policy{Mode: Deny, After: time.Hour}, nil, &runtime.InteractionResponse{RequestID: "r1", Action: runtime.ActionDeny}, client.PendingExpired},
		"deny a question": {Policy{Mode: Deny, After: time.Hour}, func(p *runtime.PendingInteraction) { p.Kind = runtime.WaitQuestion }, &runtime.InteractionResponse{RequestID: "r1", Action: runtime.ActionCancel}, client.PendingExpired},
		"answer":          {Policy{Mode: Answer, After: time.Hour, Answer: "no"}, nil, &runtime.InteractionResponse{RequestID: "r1", Action: runtime.ActionChoose, Text: "No, and tell it why"}, client.PendingExpired},
		"answer in words": {Policy{Mode: Answer, After: time.Hour, Answer: "go on"}, func(p *runtime.PendingInteraction) { p.Options = nil }, &runtime.InteractionResponse{RequestID: "r1", Action: runtime.ActionText, Text: "go on"}, client.PendingExpired},
		"answer misfits":  {Policy{Mode: Answer, After: time.Hour, Answer: "maybe"}, nil, nil, client.PendingOpen},
		"escalate":        {Policy{After: time.Hour}, nil, nil, client.PendingOpen},
		"login":           {Policy{Mode: Deny, After: time.Hour}, func(p *runtime.PendingInteraction) { p.Kind = runtime.WaitLogin }, nil, client.PendingOpen},
		"limit":           {Policy{Mode: Answer, Answer: "1", After: time.Hour}, func(p *runtime.PendingInteraction) { p.Kind = runtime.WaitLimit }, nil, client.PendingOpen},
		"unknown menu": {Policy{Mode: Answer, Answer: "1", After: time.Hour}, func(p *runtime.PendingInteraction) {
			p.Kind, p.Metadata[runtime.MetaWhy] = runtime.WaitMenu, "no rule knows it"
		}, nil, client.PendingOpen},
		"unknown kind": {Policy{Mode: Deny, After: time.Hour}, func(p *runtime.PendingInteraction) { p.Kind = "riddle" }, nil, client.PendingOpen},
		"deny what no rule answers": {Policy{Mode: Deny, After: time.Hour}, func(p *runtime.PendingInteraction) {
			p.Metadata[runtime.MetaWhy] = "a person has to answer it"
		}, &runtime.InteractionResponse{RequestID: "r1", Action: runtime.ActionDeny}, client.PendingExpired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newServiceTest(t)
				w.opts.Policy = func(string) Policy { return c.policy }
				a := w.agent("a")
				w.run()
				asked := permission("r1")
				if c.asked != nil {
					c.asked(&asked)
				}
				w.raiseQuestion("a", asked)
				w.readAfterAnswers("a")
				servicetest.Advance(time.Hour - time.Second)
				if len(a.answers) != 0 || w.only().State != client.PendingOpen || w.alerts() != 1 {
					t.Fatalf("before the deadline: %+v, answers %v, %d alerts; want it open, untouched and reported once", w.only(), a.answers, w.alerts())
				}
				servicetest.Advance(3 * time.Second)
				got := w.only()
				if got.State != c.state {
					t.Fatalf("after the deadline it is %s, want %s", got.State, c.state)
				}
				if c.sent == nil {
					servicetest.Advance(24 * time.Hour)
					if got = w.only(); len(a.answers) != 0 || got.Escalated.IsZero() || w.alerts() != 2 {
						t.Errorf("escalated at %v with %d alerts and answers %v; want two alerts in all and no answer", got.Escalated, w.alerts(), a.answers)
					}
					return
				}
				if diff := cmp.Diff([]runtime.InteractionResponse{*c.sent}, a.answers); diff != "" || got.AnsweredBy != byPolicy || w.alerts() != 1 {
					t.Errorf("answered by %s with %d alerts; the driver got (-want +got):\n%s", got.AnsweredBy, w.alerts(), diff)
				}
				if kinds := w.Kinds(); !slices.Equal(kinds, []string{"pending.raised", "pending.expired"}) {
					t.Errorf("events are %v", kinds)
				}
			})
		})
	}
}

func TestPolicyWaitNeverActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.opts.Policy = func(string) Policy { return Policy{Mode: Wait} }
		a := w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		servicetest.Advance(1000 * time.Hour)
		if got := w.only(); got.State != client.PendingOpen || !got.Escalated.IsZero() || w.alerts() != 1 || len(a.answers) != 0 {
			t.Errorf("after weeks: %+v, %d alerts, answers %v; want it open and nothing done", got, w.alerts(), a.answers)
		}
	})
}

func TestPolicyWaitsWhileAPersonIsAttached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.opts.Policy = func(string) Policy { return Policy{Mode: Deny, After: time.Minute} }
		a := w.agent("a")
		w.Change("a", func(v *session.Snapshot) { v.Attached = 1 })
		w.run()
		w.raiseQuestion("a", permission("r1"))
		if w.alerts() != 0 {
			t.Errorf("a person at the terminal got an alert")
		}
		servicetest.Advance(time.Hour)
		if len(a.answers) != 0 || w.alerts() != 1 || w.only().Escalated.IsZero() {
			t.Errorf("%d alerts and answers %v while a person is attached; want one alert at the deadline and no answer", w.alerts(), a.answers)
		}
		w.readAfterAnswers("a")
		w.Change("a", func(v *session.Snapshot) { v.Attached = 0 })
		servicetest.Advance(time.Second)
		if got := w.only(); got.State != client.PendingExpired || w.alerts() != 1 {
			t.Errorf("after the person detached: %+v and %d alerts, want it expired and no further alert", got, w.alerts())
		}
	})
}

func TestAlertAfterThePersonDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.Change("a", func(v *session.Snapshot) { v.Attached = 1 })
		w.run()
		w.raiseQuestion("a", permission("r1"))
		w.Change("a", func(v *session.Snapshot) { v.Attached = 0 })
		w.read("a")
		if w.alerts() != 1 {
			t.Errorf("%d alerts after the last person left, want 1", w.alerts())
		}
	})
}

func TestFailedPolicyIsEscalatedOnceAndRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.opts.Policy = func(string) Policy { return Policy{Mode: Deny, After: time.Minute} }
		a := w.agent("a")
		a.ignores = true
		w.run()
		w.raiseQuestion("a", permission("r1"))
		servicetest.Advance(24 * time.Hour)
		if got := w.only(); got.State != client.PendingOpen || w.alerts() != 2 || len(a.answers) != maxPolicyTries {
			t.Errorf("%+v, %d alerts, %d tries; want it open, reported twice, tried %d times", got, w.alerts(), len(a.answers), maxPolicyTries)
		}
	})
}

func TestRestartKeepsQuestionsAndRepeatsNoAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		for _, name := range []string{"stands", "settled", "other", "removed"} {
			w.agent(name)
		}
		w.run()
		for _, name := range []string{"stands", "settled", "other", "removed"} {
			w.raiseQuestion(name, permission("r-"+name))
		}
		before := map[string]client.Pending{}
		for _, p := range w.list() {
			before[p.Agent] = p
		}
		w.Stop()
		alerts := w.alerts()
		for _, name := range []string{"stands", "settled", "other"} { // a new controller has read nothing yet
			w.Views[name] = session.Snapshot{Agent: name, Session: "s-" + name, Provider: w.Views[name].Provider, Unknown: "not read yet"}
		}
		delete(w.Views, "removed")
		w.run()
		all := w.list()
		if len(all) != 4 || slices.ContainsFunc(all, func(p client.Pending) bool { return p.State != client.PendingOpen }) {
			t.Fatalf("before the first reading %+v are kept, want all four open", all)
		}
		servicetest.Advance(time.Second)
		known := func(instance string, asks *runtime.PendingInteraction) func(*session.Snapshot) {
			return func(v *session.Snapshot) {
				v.Unknown, v.Instance, v.Running, v.State, v.Pending, v.ReadAt = "", instance, true, client.StateRunning, asks, time.Now()
			}
		}
		asked := permission("r-stands")
		w.Change("stands", func(v *session.Snapshot) { // a reading in the middle of a repaint: waiting, without the question
			known("stands-1", nil)(v)
			v.Activity.State = runtime.ActivityWaiting
		})
		servicetest.Advance(250 * time.Millisecond)
		w.Change("stands", known("stands-1", &asked))
		w.Change("settled", known("settled-1", nil))
		w.Change("other", known("other-2", nil))
		servicetest.Advance(2 * absentGrace)
		got := map[string]string{}
		for _, p := range w.list() {
			got[p.Agent] = p.State
			if p.ID != before[p.Agent].ID {
				t.Errorf("the question of %s got another id", p.Agent)
			}
		}
		want := map[string]string{"stands": client.PendingOpen, "settled": client.PendingResolved, "other": client.PendingGone, "removed": client.PendingGone}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after the restart (-want +got):\n%s", diff)
		}
		if w.alerts() != alerts {
			t.Errorf("%d alerts after the restart, want none", w.alerts()-alerts)
		}
	})
}

// TestQuestionOfAWorkerStaysOpenUntilTheWorkerReturns restarts the controller below an open question. The
// first reading comes before the worker is connected again: the activity is unknown, and no question is read.
func TestQuestionOfAWorkerStaysOpenUntilTheWorkerReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r-a"))
		before := w.only()
		w.Stop()
		w.Views["a"] = session.Snapshot{Agent: "a", Session: "s-a", Provider: w.Views["a"].Provider, Unknown: "not read yet"}
		w.run()
		w.Change("a", func(v *session.Snapshot) {
			v.Unknown, v.Instance, v.Running, v.State, v.ReadAt = "", "a-1", true, client.StateRunning, time.Now()
			v.Activity.State = runtime.ActivityUnknown
		})
		servicetest.Advance(time.Second)
		w.raiseQuestion("a", permission("r-a"))
		if p := w.only(); p.ID != before.ID || p.State != client.PendingOpen {
			t.Errorf("the question is %s %s, want %s open", p.ID, p.State, before.ID)
		}
	})
}

// A question that was answered while no controller ran ends, even if the next controller finds the agent
// waiting for something else.
func TestAnsweredQuestionEndsAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r-a"))
		w.Stop()
		w.Views["a"] = session.Snapshot{Agent: "a", Session: "s-a", Provider: w.Views["a"].Provider, Unknown: "not read yet"}
		w.run()
		w.Change("a", func(v *session.Snapshot) {
			v.Unknown, v.Instance, v.Running, v.State, v.ReadAt = "", "a-1", true, client.StateRunning, time.Now()
			v.Activity.State = runtime.ActivityWaiting
		})
		if p := w.only(); p.State != client.PendingOpen {
			t.Errorf("right after the first reading the question is %s, want open", p.State)
		}
		servicetest.Advance(time.Minute)
		if p := w.only(); p.State != client.PendingResolved {
			t.Errorf("a minute later it is %s, want resolved", p.State)
		}
	})
}

func TestRestartInTheMiddleOfAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		sent   time.Duration // ago; 0: not known to have been sent
		stands bool
		want   string
	}{
		"handed over, gone":       {time.Minute, false, client.PendingAnswered},
		"handed over, stands":     {time.Minute, true, client.PendingOpen},
		"perhaps sent, gone":      {0, false, client.PendingResolved},
		"perhaps sent, it stands": {0, true, client.PendingOpen},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newServiceTest(t)
				a := w.agent("a")
				p := session.Pending{
					ID: "q-1", Request: "r1", Session: "s-a", Agent: "a", Instance: "a-1", Kind: runtime.WaitPermission, Options: []string{"Yes"},
					Since: time.Now().Add(-time.Hour), Notified: time.Now(), State: client.PendingOpen, Answer: "Yes", AnsweredBy: "anna", Policy: Wait,
				}
				if c.sent > 0 {
					p.Sent = time.Now().Add(-c.sent)
				}
				if err := w.Store.SavePending(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				if c.stands {
					asked := permission("r1")
					a.asks = &asked
				}
				w.read("a")
				w.run()
				got := w.only()
				if got.State != c.want || c.want == client.PendingResolved && got.AnsweredBy != "" {
					t.Fatalf("the question is %s, answered by %q; want it %s", got.State, got.AnsweredBy, c.want)
				}
				if c.stands {
					w.readAfterAnswers("a")
					if _, err := w.questions.Respond(t.Context(), "q-1", client.RespondRequest{Option: "1"}); err != nil {
						t.Errorf("it cannot be answered: %v", err)
					}
				}
			})
		})
	}
}

func TestQuestionsAreListedAndSavedLaterIfTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.run()
		w.Store.Break(errors.New("disk full"))
		w.raiseQuestion("a", permission("r1"))
		if got := w.only(); got.State != client.PendingOpen || w.alerts() != 1 {
			t.Errorf("%+v and %d alerts, want the question shown and reported", got, w.alerts())
		}
		servicetest.Advance(time.Minute)
		if saves := w.Store.Tries(); saves > 20 {
			t.Errorf("a broken store was tried %d times in a minute", saves)
		}
		w.Store.Break(nil)
		servicetest.Advance(2 * engine.SaveRetryDelay)
		if kept, _ := w.Store.LoadPending(t.Context()); len(kept) != 1 || kept[0].ID != w.only().ID {
			t.Errorf("the store holds %+v when it works again, want the question", kept)
		}
	})
}

func TestOnlyTheLastEndedQuestionsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		a := w.agent("a")
		w.run()
		for range maxEnded + 50 {
			w.raiseQuestion("a", permission("r1"))
			servicetest.Advance(time.Millisecond)
			a.asks = nil
			w.read("a")
			servicetest.Advance(time.Millisecond)
		}
		kept, _ := w.Store.LoadPending(t.Context())
		if len(w.list()) != maxEnded || len(kept) != maxEnded {
			t.Errorf("%d are listed and %d stored, want %d", len(w.list()), len(kept), maxEnded)
		}
		if open, _ := w.questions.Pending(t.Context(), "", client.OnlyOpen); len(open) != 0 {
			t.Errorf("%d are open, want none", len(open))
		}
	})
}

func TestSlowNotifierDelaysNoOtherQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		running, most, record := 0, 0, w.opts.Notify
		w.opts.Notify = func(ctx context.Context, p client.Pending) error {
			_ = record(ctx, p) // it never fails
			w.Mu.Lock()
			running++
			most = max(most, running)
			w.Mu.Unlock()
			<-ctx.Done()
			w.Mu.Lock()
			running--
			w.Mu.Unlock()
			return errors.New("killed")
		}
		names := strings.Split("abcdefghij", "")
		for _, name := range names {
			w.agent(name)
		}
		w.run()
		for _, name := range names {
			w.raiseQuestion(name, permission("r1"))
		}
		if len(w.list()) != 10 {
			t.Fatalf("%d questions are listed while notifiers hang, want 10", len(w.list()))
		}
		servicetest.Advance(5 * time.Minute)
		if most != notifiers || w.alerts() != 10 {
			t.Errorf("%d ran at once and %d in all, want %d and 10", most, w.alerts(), notifiers)
		}
		failed := 0
		for _, kind := range w.Kinds() {
			if kind == "pending.notify_failed" {
				failed++
			}
		}
		if failed != 10 {
			t.Errorf("%d failures were reported, want 10", failed)
		}
	})
}
