package waits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/proc"
	"gascity/runtime"
	"gascity/test/servicetest"
	"gascity/test/tier"
)

func TestOwnerIsNotifiedOnceOfEachEnd(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(w *serviceTest)
		text    string
		state   string
		want    []string // in the prompt
	}{
		"fulfilled":           {func(w *serviceTest) { w.Change("a", activity(runtime.ActivityIdle)) }, "", client.WaitFulfilled, []string{"until a is idle was fulfilled (idle)"}},
		"fulfilled, in words": {func(w *serviceTest) { w.Change("a", activity(runtime.ActivityIdle)) }, "go on with the review", client.WaitFulfilled, []string{"go on with the review"}},
		"expired":             {func(*serviceTest) { servicetest.Advance(time.Hour) }, "go on", client.WaitExpired, []string{"has expired", "asked for this notification: go on"}},
		"failed":              {func(w *serviceTest) { w.Remove("a"); servicetest.Advance(absentGrace) }, "", client.WaitFailed, []string{"has failed", "removed"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newServiceTest(t)
				w.agent("a")
				w.agent("me")
				w.run()
				got := w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me", Text: c.text, Timeout: time.Hour})
				if kept, _ := w.Store.LoadWaits(t.Context()); len(kept) != 1 || kept[0].State != client.WaitOpen || kept[0].OwnerInstance != "me-1" {
					t.Fatalf("the store holds %+v when it is answered, want the wait", kept)
				}
				c.happens(w)
				servicetest.Advance(time.Minute)
				notified := w.prompts.Accepted()
				if len(notified) != 1 || notified[0].Target != "me" {
					t.Fatalf("notified %+v, want the owner once", notified)
				}
				for _, want := range c.want {
					if !strings.Contains(notified[0].Text, want) {
						t.Errorf("the owner received %q, want %q in it", notified[0].Text, want)
					}
				}
				want := client.NudgeRequest{Text: notified[0].Text, Key: got.ID, Source: "wait", Instance: "me-1"}
				if diff := cmp.Diff(want, notified[0].NudgeRequest); diff != "" {
					t.Errorf("the prompt (-want +got):\n%s", diff)
				}
				if now := w.find(got.ID); now.State != c.state || now.Receipt != "r-1" {
					t.Errorf("the wait is %+v, want it %s with its receipt", now, c.state)
				}
			})
		})
	}
}

func TestWaitsContinueUnderTheNextController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.agent("me")
		w.run()
		idle := w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me"})
		clock := w.add(client.WaitRequest{For: client.WaitTime, Arg: "3h", Owner: "me"})
		limit := w.add(client.WaitRequest{Target: "a", For: client.WaitStopped, Owner: "me", Timeout: time.Hour})
		w.Stop()
		a := w.Views["a"]
		delete(w.Views, "a") // a new controller does not know it yet
		w.run()
		servicetest.Advance(absentGrace / 2)
		w.Views["a"] = a
		w.Change("a", activity(runtime.ActivityIdle))
		if got := w.find(idle.ID); got.State != client.WaitFulfilled {
			t.Errorf("after the restart: %+v, want it fulfilled", got)
		}
		servicetest.Advance(time.Hour)
		if got := w.find(limit.ID); got.State != client.WaitExpired {
			t.Errorf("after its deadline: %+v, want it expired", got)
		}
		servicetest.Advance(2 * time.Hour)
		if got := w.find(clock.ID); got.State != client.WaitFulfilled {
			t.Errorf("after its time: %+v, want it fulfilled", got)
		}
		if n := len(w.prompts.Accepted()); n != 3 {
			t.Errorf("the owner received %d notifications, want 3", n)
		}
	})
}

func TestCrashBetweenEndAndPromptNotifiesOnce(t *testing.T) {
	for name, nudged := range map[string]bool{"before the prompt": false, "after the prompt": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newServiceTest(t)
				w.agent("me")
				k := session.Wait{
					ID: "w-1", For: client.WaitTime, Arg: time.Now().Format(time.RFC3339), Owner: "me", OwnerInstance: "me-1",
					CreatedAt: time.Now(), State: client.WaitFulfilled, EndedAt: time.Now(), Deadline: time.Now().Add(time.Hour),
				}
				if err := w.Store.SaveWait(t.Context(), k); err != nil {
					t.Fatal(err)
				}
				if nudged {
					if _, err := w.Nudge(t.Context(), "me", client.NudgeRequest{Key: "w-1"}); err != nil {
						t.Fatal(err)
					}
				}
				w.run()
				if got := w.find("w-1"); len(w.prompts.Accepted()) != 1 || got.Receipt != "r-1" {
					t.Errorf("notified %d times, %+v; want once, with the receipt", len(w.prompts.Accepted()), got)
				}
				w.Stop()
				w.run()
				if len(w.prompts.Accepted()) != 1 {
					t.Errorf("notified again after another restart")
				}
			})
		})
	}
}

func TestOnlyTheInstanceOrItsConversationIsNotified(t *testing.T) {
	for name, c := range map[string]struct {
		conversation string // when it was registered
		later        func(*session.Snapshot)
		want         string // the instance to notify; "-": none
	}{
		"the same":             {"", func(*session.Snapshot) {}, "me-1"},
		"a successor":          {"", func(v *session.Snapshot) { v.Instance = "me-2" }, "-"},
		"another conversation": {"c1", func(v *session.Snapshot) { v.Instance, v.Conversation.ID = "me-2", "c2" }, "-"},
		"resumed":              {"c1", func(v *session.Snapshot) { v.Instance = "me-2" }, "me-2"},
		"asleep, to resume":    {"c1", ended(session.StateAsleep), ""},
		"asleep for good":      {"", ended(session.StateAsleep), "-"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newServiceTest(t)
				w.agent("a")
				w.agent("me")
				w.run()
				w.Change("me", func(v *session.Snapshot) { v.Conversation.ID = c.conversation })
				got := w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me"})
				w.Change("me", c.later)
				w.Change("a", activity(runtime.ActivityIdle))
				notified := w.prompts.Accepted()
				if c.want == "-" {
					if now := w.find(got.ID); len(notified) != 0 || !strings.Contains(now.Reason, "the owner was not notified") {
						t.Errorf("notified %+v, %+v; want no owner, and why", notified, now)
					}
					return
				}
				if len(notified) != 1 || notified[0].Instance != c.want {
					t.Errorf("notified %+v, want the instance %q", notified, c.want)
				}
			})
		})
	}
}

func TestFailedNotificationIsSentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("me")
		w.run()
		w.prompts.Refuse(fmt.Errorf("%w: disk full", client.ErrUnavailable))
		got := w.add(client.WaitRequest{For: client.WaitTime, Arg: "1s", Owner: "me"})
		servicetest.Advance(10 * time.Minute)
		if now := w.find(got.ID); now.Receipt != "" || now.State != client.WaitFulfilled {
			t.Fatalf("while the owner cannot be notified: %+v", now)
		}
		w.prompts.Refuse(nil)
		servicetest.Advance(2 * maxNotifyGap)
		if now := w.find(got.ID); now.Receipt == "" || len(w.prompts.Accepted()) != 1 {
			t.Errorf("%+v, notified %d times; want once", now, len(w.prompts.Accepted()))
		}
		w.prompts.Refuse(fmt.Errorf("%w: it is suspended", client.ErrRefused))
		refused := w.add(client.WaitRequest{For: client.WaitTime, Arg: "1s", Owner: "me"})
		servicetest.Advance(time.Minute)
		if now := w.find(refused.ID); !strings.Contains(now.Reason, "it is suspended") {
			t.Errorf("%+v, want why the owner was not notified", now)
		}
	})
}

func TestSlowPromptIsSentOnceAndDelaysNoOtherWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.agent("me")
		slow, calls, check := make(chan struct{}), atomic.Int32{}, w.prompts.Before
		w.prompts.Before = func(target string, req client.NudgeRequest) {
			check(target, req)
			calls.Add(1)
			<-slow
		}
		w.run()
		w.add(client.WaitRequest{For: client.WaitTime, Arg: "1s", Owner: "me"})
		servicetest.Advance(2 * time.Second)
		if got := <-w.startWait(t.Context(), client.WaitRequest{Target: "a", For: client.WaitBusy}); got.err != nil || got.took != 0 {
			t.Errorf("another caller waited %+v while a prompt was slow", got)
		}
		servicetest.Advance(time.Second)
		if calls.Load() != 1 {
			t.Errorf("the prompt was sent %d times, want once", calls.Load())
		}
		close(slow)
		synctest.Wait()
		if len(w.prompts.Accepted()) != 1 {
			t.Errorf("notified %d times, want once", len(w.prompts.Accepted()))
		}
	})
}

func TestRegisteringIsCheckedAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("me")
		w.run()
		clock := client.WaitRequest{For: client.WaitTime, Arg: "1h", Owner: "me"}
		for name, c := range map[string]struct {
			req  client.WaitRequest
			want error
		}{
			"no owner":      {client.WaitRequest{For: client.WaitTime, Arg: "1h"}, client.ErrInvalid},
			"unknown owner": {client.WaitRequest{For: client.WaitTime, Arg: "1h", Owner: "x"}, client.ErrNotFound},
			"long text":     {client.WaitRequest{For: client.WaitTime, Arg: "1h", Owner: "me", Text: strings.Repeat("x", maxText+1)}, client.ErrInvalid},
		} {
			if _, err := w.waits.AddWait(t.Context(), c.req); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		w.Store.Break(errors.New("disk full"))
		if _, err := w.waits.AddWait(t.Context(), clock); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("a store that fails: %v, want unavailable", err)
		}
		w.Store.Break(nil)
		for range maxOpen {
			if _, err := w.waits.AddWait(t.Context(), clock); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.waits.AddWait(t.Context(), clock); !errors.Is(err, client.ErrRefused) {
			t.Errorf("one too many: %v, want a refusal", err)
		}
		if all, _ := w.waits.Waits(t.Context(), client.OnlyOpen); len(all) != maxOpen || all[0].Deadline.Sub(all[0].CreatedAt) != defaultLimit {
			t.Errorf("%d are open, the first until %v; want %d and a day", len(all), all[0].Deadline, maxOpen)
		}
	})
}

func TestCancelAndForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("me")
		w.run()
		got := w.add(client.WaitRequest{For: client.WaitTime, Arg: "1h", Owner: "me"})
		if now, err := w.waits.CancelWait(t.Context(), got.ID); err != nil || now.State != client.WaitCancelled {
			t.Errorf("cancelled: %+v, %v", now, err)
		}
		if _, err := w.waits.CancelWait(t.Context(), got.ID); !errors.Is(err, client.ErrRefused) {
			t.Errorf("cancelled twice: %v, want a refusal", err)
		}
		if _, err := w.waits.CancelWait(t.Context(), "w-none"); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("cancelled an unknown one: %v, want not found", err)
		}
		servicetest.Advance(2 * time.Hour)
		kept, _ := w.Store.LoadWaits(t.Context())
		if all, _ := w.waits.Waits(t.Context(), client.WithEnded); len(all) != 0 || len(kept) != 0 || len(w.prompts.Accepted()) != 0 {
			t.Errorf("after two hours %+v are listed, %+v stored, %d notified; want nothing", all, kept, len(w.prompts.Accepted()))
		}
		for range maxEnded + 20 {
			w.add(client.WaitRequest{For: client.WaitTime, Arg: "1ms", Owner: "me"})
			servicetest.Advance(10 * time.Millisecond)
		}
		if kept, _ = w.Store.LoadWaits(t.Context()); len(kept) != maxEnded || len(w.prompts.Accepted()) != maxEnded+20 {
			t.Errorf("%d are stored and %d notified, want %d and %d", len(kept), len(w.prompts.Accepted()), maxEnded, maxEnded+20)
		}
	})
}

func TestWaitsAreSavedWhenTheStoreWorksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("me")
		w.run()
		got := w.add(client.WaitRequest{For: client.WaitTime, Arg: "1s", Owner: "me"})
		w.Store.Break(errors.New("disk full"))
		servicetest.Advance(time.Minute)
		if saves := w.Store.Tries(); saves > 40 {
			t.Errorf("a broken store was tried %d times in a minute", saves)
		}
		w.Store.Break(nil)
		servicetest.Advance(time.Minute)
		kept, _ := w.Store.LoadWaits(t.Context())
		if len(kept) != 1 || kept[0].State != client.WaitFulfilled || kept[0].Receipt == "" || len(w.prompts.Accepted()) != 1 {
			t.Errorf("the store holds %+v of %s, notified %d times; want its end and its receipt, once", kept, got.ID, len(w.prompts.Accepted()))
		}
	})
}

func TestIdleWaitsDoNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.agent("me")
		w.run()
		w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me", Timeout: 1000 * time.Hour})
		saves := w.Store.Tries()
		for range 100 {
			w.Change("a", activity(runtime.ActivityBusy))
			servicetest.Advance(time.Minute)
		}
		if w.Store.Tries() != saves || w.ran() != 0 {
			t.Errorf("waiting saved %d times and ran %d commands", w.Store.Tries()-saves, w.ran())
		}
	})
}

func TestShellRunsInTheCityDirectory(t *testing.T) {
	tier.Process(t)
	dir := t.TempDir()
	shell := ShellIn(dir, []string{"PATH=" + os.Getenv("PATH"), "ONLY=this"})
	if err := shell(t.Context(), `test "$ONLY" = this && test -z "$HOME" && touch here`); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "here")); err != nil {
		t.Error(err)
	}
	if err := shell(t.Context(), "echo not yet; exit 1"); err == nil || !strings.Contains(err.Error(), "not yet") {
		t.Errorf("a status of 1 is %v, want its words", err)
	}
}

func TestShellKillsProcessesOfACommand(t *testing.T) {
	tier.Process(t)
	dir := t.TempDir()
	shell := ShellIn(dir, []string{"PATH=" + os.Getenv("PATH")})
	if err := shell(t.Context(), `sleep 300 & echo $! > pid`); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.After(20 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		if info, err := proc.Stat(pid); errors.Is(err, proc.ErrGone) || err == nil && info.Ended() {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("process %d of the command still runs", pid)
		}
	}
}
