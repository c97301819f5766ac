package budgets_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/runtime"
	"gascity/test/storetest"
)

func TestWarningHoldsNoPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a"), tokens(usage.ActWarn, 100, time.Hour))
		r.must(r.spend("a", "1", 100))
		if why := r.promptHold("a"); why != "" {
			t.Errorf("a warning holds: %s", why)
		}
		r.wantRequests()
		r.wantEvents(event.BudgetExceeded)
		time.Sleep(time.Hour + time.Second)
		r.wantEvents(event.BudgetExceeded, event.BudgetReleased)
	})
}

// TestHoldIsInForceWhenTheReportIsAnswered checks that no prompt can be sent between a report and
// its effect.
func TestHoldIsInForceWhenTheReportIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a", "bb"), tokens(usage.ActHold, 100, time.Hour))
		r.must(r.spend("a", "1", 60))
		if why := r.promptHold("a"); why != "" {
			t.Errorf("held below the limit: %s", why)
		}
		r.must(r.spend("a", "2", 40))
		if why := r.promptHold("a"); !strings.Contains(why, "budget b: 100 of 100 tokens in 1h; held until ") || !strings.HasSuffix(why, "; to end it now: gc usage lift b") {
			t.Errorf("held because of %q, want what is used up and until when", why)
		}
		if why := r.promptHold("bb"); why != "" {
			t.Errorf("another agent is held: %s", why)
		}
		time.Sleep(time.Hour - time.Minute)
		synctest.Wait()
		if r.promptHold("a") == "" {
			t.Error("the hold ended before the window did")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if why := r.promptHold("a"); why != "" {
			t.Errorf("held beyond the window: %s", why)
		}
		r.wantRequests()
		if got := r.changedSessions(); got != "s-a s-a" {
			t.Errorf("those who wait received %q, want the begin and the end", got)
		}
	})
}

func TestInterruptIsOnceInAnEpisodeForEachInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a"), tokens(usage.ActInterrupt, 100, time.Hour))
		r.city.SetActivity("a", runtime.ActivityBusy)
		r.must(r.spend("a", "1", 100))
		r.wantRequests("interrupt s-a a-1")
		r.must(r.spend("a", "2", 100))
		r.city.SetActivity("a", runtime.ActivityBusy)
		r.wantRequests("interrupt s-a a-1")
		if r.promptHold("a") == "" {
			t.Error("an interrupted agent gets new prompts")
		}
		r.city.Edit("a", func(v *session.Snapshot) { v.Instance = "a-2" })
		r.city.SetActivity("a", runtime.ActivityBusy)
		r.wantRequests("interrupt s-a a-1", "interrupt s-a a-2")
		r.city.SetActivity("a", runtime.ActivityIdle)
		time.Sleep(2 * time.Hour)
		r.city.SetActivity("a", runtime.ActivityBusy)
		r.must(r.spend("a", "3", 100))
		r.wantRequests("interrupt s-a a-1", "interrupt s-a a-2", "interrupt s-a a-2")
	})
}

func TestInterruptThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a"), tokens(usage.ActInterrupt, 100, 0))
		r.city.Refuse(errors.New("no"))
		r.city.SetActivity("a", runtime.ActivityBusy)
		r.must(r.spend("a", "1", 100))
		time.Sleep(time.Second)
		r.city.Refuse(nil)
		time.Sleep(10 * time.Second)
		r.wantRequests("interrupt s-a a-1")
	})
}

// TestStop checks that the session is stopped and stays stopped until the window allows it again.
// Another controller comes to the same result.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a", "bb"), tokens(usage.ActStop, 100, time.Hour))
		r.city.SetActivity("a", runtime.ActivityBusy)
		r.must(r.spend("a", "1", 100))
		r.wantRequests("withhold s-a")
		r.restart()
		r.wantRequests("withhold s-a")
		if r.promptHold("a") == "" {
			t.Error("another controller does not know that the budget is used up")
		}
		if until := r.snapshot("a").Hold.Until; time.Until(until) > time.Hour || time.Until(until) < 59*time.Minute {
			t.Errorf("it is held until %s", until)
		}
		time.Sleep(time.Hour + time.Second)
		r.wantRequests("withhold s-a", "allow s-a")
	})
}

// TestStopThatCannotBeSaved checks that the turn is interrupted if a stop cannot be saved, and that
// the stop is tried again until it succeeds.
func TestStopThatCannotBeSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a"), tokens(usage.ActStop, 100, time.Hour))
		r.city.SetActivity("a", runtime.ActivityBusy)
		r.city.Refuse(client.ErrUnavailable)
		r.must(r.spend("a", "1", 100))
		time.Sleep(time.Minute)
		r.wantRequests()
		r.city.Refuse(nil)
		time.Sleep(time.Minute)
		r.wantRequests("withhold s-a")
	})
}

// TestSuspensionByAPersonIsKept checks that a budget changes nothing for a session that a person
// suspended.
func TestSuspensionByAPersonIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCity(t, "a")
		w.Edit("a", func(v *session.Snapshot) { v.Hold = session.Hold{Kind: session.HoldSuspend} })
		r := start(t, w, tokens(usage.ActStop, 100, time.Hour))
		r.must(r.spend("a", "1", 100))
		time.Sleep(2 * time.Hour)
		r.wantRequests()
	})
}

func TestLimitOfTheCityStopsAllAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tokens(usage.ActStop, 100, time.Hour)
		b.Scope = usage.ScopeCity
		r := start(t, newCity(t, "a", "bb"), b)
		r.must(r.spend("a", "1", 50))
		r.must(r.spend("bb", "1", 50))
		synctest.Wait()
		if got := len(r.city.Requests()); got != 2 {
			t.Errorf("%d sessions were stopped, want both", got)
		}
	})
}

// TestRaisedLimitReleases checks that a changed configuration is applied at once.
func TestRaisedLimitReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a"), tokens(usage.ActStop, 100, 0))
		r.must(r.spend("a", "1", 100))
		r.wantRequests("withhold s-a")
		r.set(tokens(usage.ActStop, 200, 0))
		r.wantRequests("withhold s-a", "allow s-a")
		r.set(tokens(usage.ActStop, 50, 0))
		r.wantRequests("withhold s-a", "allow s-a", "withhold s-a")
		r.set()
		r.wantRequests("withhold s-a", "allow s-a", "withhold s-a", "allow s-a")
		r.wantEvents(event.BudgetExceeded, event.BudgetReleased, event.BudgetExceeded, event.BudgetReleased)
	})
}

func TestLiftedBudgetStartsAtZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a"), tokens(usage.ActStop, 100, 0))
		r.must(r.spend("a", "1", 150))
		r.wantRequests("withhold s-a")
		if _, err := r.LiftBudget(t.Context(), "none", client.LiftRequest{}); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("a budget that is not there was lifted: %v", err)
		}
		time.Sleep(time.Second)
		done, err := r.LiftBudget(t.Context(), "b", client.LiftRequest{})
		if err != nil || !done.Changed {
			t.Errorf("not lifted: %+v, %v", done, err)
		}
		r.wantRequests("withhold s-a", "allow s-a")
		r.restart()
		if why := r.promptHold("a"); why != "" {
			t.Errorf("another controller does not know of it: %s", why)
		}
		time.Sleep(time.Second)
		r.must(r.spend("a", "2", 99))
		r.wantRequests("withhold s-a", "allow s-a")
		r.must(r.spend("a", "3", 1))
		r.wantRequests("withhold s-a", "allow s-a", "withhold s-a")
	})
}

// TestSilenceStopsTheSession stops the reports while the agent works. The session is stopped, stays
// so when it is idle and under another controller, and is released when it reports again.
func TestSilenceStopsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tokens(usage.ActInterrupt, 1e9, 0)
		b.Silence = time.Minute
		r := start(t, newCity(t, "a"), b)
		r.city.SetActivity("a", runtime.ActivityBusy)
		for i := range 10 { // it reports for five minutes
			time.Sleep(30 * time.Second)
			r.must(r.spend("a", fmt.Sprint(i), 1))
		}
		r.wantRequests()
		time.Sleep(59 * time.Second)
		r.wantRequests()
		time.Sleep(16 * time.Second)
		r.wantRequests("interrupt s-a a-1")
		r.wantEvents(event.BudgetExceeded)
		r.city.SetActivity("a", runtime.ActivityIdle)
		time.Sleep(time.Hour)
		if why := r.promptHold("a"); !strings.Contains(why, "without a usage report; held until city.toml allows a longer silence; to end it now: gc usage lift b") {
			t.Errorf("a silent agent that rests gets prompts: %q", why)
		}
		r.restart()
		if r.promptHold("a") == "" {
			t.Error("another controller has forgotten the silence")
		}
		r.must(r.spend("a", "late", 1))
		if why := r.promptHold("a"); why != "" {
			t.Errorf("an agent that reports again is held: %s", why)
		}
	})
}

// TestTimeIsCountedWhileItRuns checks that working time is neither counted twice nor lost when the
// controller changes.
func TestTimeIsCountedWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tokens(usage.ActHold, time.Hour.Seconds(), 0)
		b.Measure = usage.MeasureTime
		r := start(t, newCity(t, "a"), b)
		r.city.SetActivity("a", runtime.ActivityBusy)
		time.Sleep(40 * time.Minute)
		r.city.SetActivity("a", runtime.ActivityIdle)
		time.Sleep(10 * time.Hour)
		r.city.SetActivity("a", runtime.ActivityBusy)
		time.Sleep(10 * time.Minute)
		r.restart() // while the agent works
		time.Sleep(9*time.Minute + 55*time.Second)
		synctest.Wait()
		if why := r.promptHold("a"); why != "" {
			t.Errorf("held before the hour was over: %s", why)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if r.promptHold("a") == "" {
			uses, err := r.Budgets(t.Context())
			t.Errorf("not held after an hour of work: %+v, %v", uses, err)
		}
	})
}

// TestUnknownSpendingHolds checks that prompts are held while the usage is not known.
func TestUnknownSpendingHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a"), tokens(usage.ActHold, 100, time.Hour))
		r.city.Store.Set(storetest.Fails)
		r.restart()
		if why := r.promptHold("a"); !strings.Contains(why, "not known") {
			t.Errorf("with a store that cannot be read: %q", why)
		}
		r.city.Store.Set(storetest.Works)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if why := r.promptHold("a"); why != "" {
			t.Errorf("with a store that works again: %s", why)
		}
	})
}

// TestBrokenStoreLosesNoAnsweredReport checks that a failed write is an error, and that an entry
// that was written although the answer was lost counts once.
func TestBrokenStoreLosesNoAnsweredReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newCity(t, "a"), tokens(usage.ActHold, 100, time.Hour))
		answered := int64(0)
		send := func(message string) {
			for range 3 { // as a worker does
				if err := r.spend("a", message, 10); err == nil {
					answered += 10
					return
				} else if !errors.Is(err, client.ErrUnavailable) {
					t.Fatal(err)
				}
			}
		}
		for i, mode := range []storetest.Mode{storetest.Works, storetest.Fails, storetest.FailsWrites, storetest.LosesAnswers, storetest.Works, storetest.LosesAnswers} {
			r.city.Store.Set(mode)
			send(fmt.Sprint("during ", i))
			r.city.Store.Set(storetest.Works)
			send(fmt.Sprint("during ", i)) // the same again
			send(fmt.Sprint("after ", i))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got, err := r.Usage(t.Context(), client.UsageRequest{})
		r.must(err)
		if got.Total.Tokens.Output == nil || *got.Total.Tokens.Output != 120 {
			t.Errorf("kept is %+v, want 12 responses of 10 tokens", got.Total.Tokens)
		}
		uses, err := r.Budgets(t.Context())
		r.must(err)
		if len(uses) != 1 || uses[0].Used != 120 || !uses[0].Over {
			t.Errorf("the budgets are %+v, want 120 tokens", uses)
		}
		if answered < 120 {
			t.Errorf("%d tokens were answered for", answered)
		}
	})
}
