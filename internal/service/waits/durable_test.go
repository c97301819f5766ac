package waits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/proc"
	"gascity/runtime"
	"gascity/test/tier"
)

func TestOwnerIsToldOnceOfEveryEnd(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(w *fakeCity)
		text    string
		state   string
		want    []string // in the prompt
	}{
		"fulfilled":           {func(w *fakeCity) { w.change("a", activity(runtime.ActivityIdle)) }, "", client.WaitFulfilled, []string{"until a is idle was fulfilled (idle)"}},
		"fulfilled, in words": {func(w *fakeCity) { w.change("a", activity(runtime.ActivityIdle)) }, "go on with the review", client.WaitFulfilled, []string{"go on with the review"}},
		"expired":             {func(*fakeCity) { advance(time.Hour) }, "go on", client.WaitExpired, []string{"has expired", "asked for this notification: go on"}},
		"failed":              {func(w *fakeCity) { w.remove("a"); advance(absentGrace) }, "", client.WaitFailed, []string{"has failed", "removed"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakeCity(t)
				w.agent("a")
				w.agent("me")
				w.run()
				got := w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me", Text: c.text, Timeout: time.Hour})
				if kept, _ := w.store.LoadWaits(t.Context()); len(kept) != 1 || kept[0].State != client.WaitOpen || kept[0].OwnerInstance != "me-1" {
					t.Fatalf("the store holds %+v when it is answered, want the wait", kept)
				}
				c.happens(w)
				advance(time.Minute)
				told := w.notifications()
				if len(told) != 1 || told[0].target != "me" {
					t.Fatalf("notified %+v, want the owner once", told)
				}
				for _, want := range c.want {
					if !strings.Contains(told[0].req.Text, want) {
						t.Errorf("the owner received %q, want %q in it", told[0].req.Text, want)
					}
				}
				want := client.NudgeRequest{Text: told[0].req.Text, Key: got.ID, Source: "wait", Instance: "me-1"}
				if diff := cmp.Diff(want, told[0].req); diff != "" {
					t.Errorf("the prompt (-want +got):\n%s", diff)
				}
				if now := w.find(got.ID); now.State != c.state || now.Receipt != "r-1" {
					t.Errorf("the wait is %+v, want it %s with its receipt", now, c.state)
				}
			})
		})
	}
}

func TestWaitsOutliveTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCity(t)
		w.agent("a")
		w.agent("me")
		w.run()
		idle := w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me"})
		clock := w.add(client.WaitRequest{For: client.WaitTime, Arg: "3h", Owner: "me"})
		limit := w.add(client.WaitRequest{Target: "a", For: client.WaitStopped, Owner: "me", Timeout: time.Hour})
		w.stop()
		a := w.views["a"]
		delete(w.views, "a") // a new controller does not know it yet
		w.run()
		advance(absentGrace / 2)
		w.views["a"] = a
		w.change("a", activity(runtime.ActivityIdle))
		if got := w.find(idle.ID); got.State != client.WaitFulfilled {
			t.Errorf("after the restart: %+v, want it fulfilled", got)
		}
		advance(time.Hour)
		if got := w.find(limit.ID); got.State != client.WaitExpired {
			t.Errorf("after its deadline: %+v, want it expired", got)
		}
		advance(2 * time.Hour)
		if got := w.find(clock.ID); got.State != client.WaitFulfilled {
			t.Errorf("after its time: %+v, want it fulfilled", got)
		}
		if n := len(w.notifications()); n != 3 {
			t.Errorf("the owner received %d notifications, want 3", n)
		}
	})
}

func TestCrashBetweenEndAndPromptTellsOnce(t *testing.T) {
	for name, nudged := range map[string]bool{"before the prompt": false, "after the prompt": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakeCity(t)
				w.agent("me")
				k := session.Wait{
					ID: "w-1", For: client.WaitTime, Arg: time.Now().Format(time.RFC3339), Owner: "me", OwnerInstance: "me-1",
					CreatedAt: time.Now(), State: client.WaitFulfilled, EndedAt: time.Now(), Deadline: time.Now().Add(time.Hour),
				}
				if err := w.store.SaveWait(t.Context(), k); err != nil {
					t.Fatal(err)
				}
				if nudged {
					if _, err := w.Nudge(t.Context(), "me", client.NudgeRequest{Key: "w-1"}); err != nil {
						t.Fatal(err)
					}
				}
				w.run()
				if got := w.find("w-1"); len(w.notifications()) != 1 || got.Receipt != "r-1" {
					t.Errorf("notified %d times, %+v; want once, with the receipt", len(w.notifications()), got)
				}
				w.stop()
				w.run()
				if len(w.notifications()) != 1 {
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
				w := newFakeCity(t)
				w.agent("a")
				w.agent("me")
				w.run()
				w.change("me", func(v *session.Snapshot) { v.Conversation.ID = c.conversation })
				got := w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me"})
				w.change("me", c.later)
				w.change("a", activity(runtime.ActivityIdle))
				told := w.notifications()
				if c.want == "-" {
					if now := w.find(got.ID); len(told) != 0 || !strings.Contains(now.Reason, "the owner was not notified") {
						t.Errorf("notified %+v, %+v; want no owner, and why", told, now)
					}
					return
				}
				if len(told) != 1 || told[0].req.Instance != c.want {
					t.Errorf("notified %+v, want the instance %q", told, c.want)
				}
			})
		})
	}
}

func TestOwnerThatCannotBeToldNowIsToldLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCity(t)
		w.agent("me")
		w.run()
		w.refuse = fmt.Errorf("%w: disk full", client.ErrUnavailable)
		got := w.add(client.WaitRequest{For: client.WaitTime, Arg: "1s", Owner: "me"})
		advance(10 * time.Minute)
		if now := w.find(got.ID); now.Receipt != "" || now.State != client.WaitFulfilled {
			t.Fatalf("while the owner cannot be notified: %+v", now)
		}
		w.mu.Lock()
		w.refuse = nil
		w.mu.Unlock()
		advance(2 * maxNotifyGap)
		if now := w.find(got.ID); now.Receipt == "" || len(w.notifications()) != 1 {
			t.Errorf("%+v, notified %d times; want once", now, len(w.notifications()))
		}
		w.mu.Lock()
		w.refuse = fmt.Errorf("%w: it is suspended", client.ErrRefused)
		w.mu.Unlock()
		refused := w.add(client.WaitRequest{For: client.WaitTime, Arg: "1s", Owner: "me"})
		advance(time.Minute)
		if now := w.find(refused.ID); !strings.Contains(now.Reason, "it is suspended") {
			t.Errorf("%+v, want why the owner was not notified", now)
		}
	})
}

func TestSlowPromptIsSentOnceAndHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCity(t)
		w.agent("a")
		w.agent("me")
		w.slow = make(chan struct{})
		w.run()
		w.add(client.WaitRequest{For: client.WaitTime, Arg: "1s", Owner: "me"})
		advance(2 * time.Second)
		if got := <-w.startWait(t.Context(), client.WaitRequest{Target: "a", For: client.WaitBusy}); got.err != nil || got.took != 0 {
			t.Errorf("somebody else waited %+v while a prompt was slow", got)
		}
		advance(time.Second)
		if w.calls.Load() != 1 {
			t.Errorf("the prompt was sent %d times, want once", w.calls.Load())
		}
		close(w.slow)
		synctest.Wait()
		if len(w.notifications()) != 1 {
			t.Errorf("notified %d times, want once", len(w.notifications()))
		}
	})
}

func TestRegisteringIsCheckedAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCity(t)
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
		w.store.setBroken(errors.New("disk full"))
		if _, err := w.waits.AddWait(t.Context(), clock); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("a store that fails: %v, want unavailable", err)
		}
		w.store.setBroken(nil)
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
		w := newFakeCity(t)
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
		advance(2 * time.Hour)
		kept, _ := w.store.LoadWaits(t.Context())
		if all, _ := w.waits.Waits(t.Context(), client.WithEnded); len(all) != 0 || len(kept) != 0 || len(w.notifications()) != 0 {
			t.Errorf("after two hours %+v are listed, %+v stored, %d notified; want nothing", all, kept, len(w.notifications()))
		}
		for range maxEnded + 20 {
			w.add(client.WaitRequest{For: client.WaitTime, Arg: "1ms", Owner: "me"})
			advance(10 * time.Millisecond)
		}
		if kept, _ = w.store.LoadWaits(t.Context()); len(kept) != maxEnded || len(w.notifications()) != maxEnded+20 {
			t.Errorf("%d are stored and %d notified, want %d and %d", len(kept), len(w.notifications()), maxEnded, maxEnded+20)
		}
	})
}

func TestFailingStoreIsCaughtUpWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCity(t)
		w.agent("me")
		w.run()
		got := w.add(client.WaitRequest{For: client.WaitTime, Arg: "1s", Owner: "me"})
		w.store.setBroken(errors.New("disk full"))
		advance(time.Minute)
		if saves := w.store.count(); saves > 40 {
			t.Errorf("a broken store was tried %d times in a minute", saves)
		}
		w.store.setBroken(nil)
		advance(time.Minute)
		kept, _ := w.store.LoadWaits(t.Context())
		if len(kept) != 1 || kept[0].State != client.WaitFulfilled || kept[0].Receipt == "" || len(w.notifications()) != 1 {
			t.Errorf("the store holds %+v of %s, notified %d times; want its end and its receipt, once", kept, got.ID, len(w.notifications()))
		}
	})
}

func TestIdleWaitsDoNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCity(t)
		w.agent("a")
		w.agent("me")
		w.run()
		w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me", Timeout: 1000 * time.Hour})
		saves := w.store.count()
		for range 100 {
			w.change("a", activity(runtime.ActivityBusy))
			advance(time.Minute)
		}
		if w.store.count() != saves || w.ran() != 0 {
			t.Errorf("waiting saved %d times and ran %d commands", w.store.count()-saves, w.ran())
		}
	})
}

func TestShellRunsInTheCityAndLeavesNothing(t *testing.T) {
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

func TestShellEndsWhatACommandLeft(t *testing.T) {
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
