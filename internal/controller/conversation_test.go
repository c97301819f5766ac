package controller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// talks makes every agent of a city one that resumes by an id.
func talks(w *fakeCity) {
	w.edit(func(d *plan.Desired) {
		for i := range d.Sessions {
			s := &d.Sessions[i]
			s.Config.WorkDir = "/town"
			s.Resume = plan.Resume{Again: s.Config.Command + " --resume " + plan.ConversationMark, New: s.Config.Command + " --id " + plan.ConversationMark}
		}
	})
}

// command returns what the session runs, and the words of its conversation.
func (w *fakeCity) command(name string) (how, id string) {
	w.t.Helper()
	w.fake.mu.Lock()
	defer w.fake.mu.Unlock()
	s := w.fake.sessions[name]
	if s == nil {
		w.t.Fatalf("%s does not run", name)
	}
	words := strings.Fields(s.cfg.Command)
	return words[len(words)-2], words[len(words)-1]
}

// conversation fails unless the view and the store agree with what runs.
func (w *fakeCity) conversation(agent, how string) string {
	w.t.Helper()
	name := "gc-town-" + agent
	flag, id := w.command(name)
	v, err := w.c.Snapshot(agent)
	if err != nil || flag != how || v.Conversation.ID != id || w.records.record(w.t, name).Conversation.ID != id {
		w.t.Errorf("%s runs with %s %s, want %s; the view has %+v (%v), the store %+v", agent, flag, id, how, v.Conversation, err,
			w.records.record(w.t, name).Conversation)
	}
	return id
}

func TestAConversationIsKeptInTheStoreBeforeItBegins(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		talks(w)
		var stored session.Record
		w.fake.onStart = func(context.Context, string) error {
			stored = w.records.record(t, "gc-town-a")
			return nil
		}
		w.begin()
		if id := w.conversation("a", "--id"); stored.Conversation.ID != id || stored.Conversation.Dir != "/town" {
			t.Errorf("the store had %+v when %s was started", stored.Conversation, id)
		}
	})
}

// TestEveryRestartContinuesTheConversation goes through the ways in which an
// agent is started again.
func TestEveryRestartContinuesTheConversation(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		talks(w)
		w.begin()
		id := w.conversation("a", "--id")
		still := func(what string) {
			t.Helper()
			w.after(20 * time.Second)
			if now := w.conversation("a", "--resume"); now != id {
				t.Errorf("after %s the conversation is %s, want %s", what, now, id)
			}
		}
		w.fake.end("gc-town-a", 3)
		still("a crash")
		w.fake.vanish("gc-town-a")
		w.after(time.Minute)
		still("a loss")
		if _, err := w.c.Kill(t.Context(), "a", client.LifecycleRequest{}); err != nil {
			t.Fatal(err)
		}
		still("a kill")
		if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		still("a restart")
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Env = map[string]string{"A": "1"} })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(2 * time.Minute)
		still("a drift")
		starts := w.fake.number("start")
		w.edit(func(d *plan.Desired) {
			s := &d.Sessions[0]
			s.Config.Command = "other a"
			s.Resume.Again, s.Resume.New = "other a --resume "+plan.ConversationMark, "other a --id "+plan.ConversationMark
		})
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(2 * time.Minute)
		still("a relaunch")
		if w.fake.number("relaunch") != 1 || w.fake.number("start") != starts {
			t.Errorf("there were %d relaunches, and %d starts", w.fake.number("relaunch"), w.fake.number("start")-starts)
		}
		w.end()
		w.fake.vanish("gc-town-a") // the host restarts
		w.begin()
		still("a reboot")
	})
}

func TestAResetBeginsAnotherConversation(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		talks(w)
		w.begin()
		id := w.conversation("a", "--id")
		done, err := w.c.Reset(t.Context(), "a", client.LifecycleRequest{})
		if err != nil || !done.Changed {
			t.Fatalf("the reset gives %+v, %v", done, err)
		}
		w.fake.end("gc-town-a", 3)
		w.after(10 * time.Second)
		if now := w.conversation("a", "--id"); now == id {
			t.Error("the conversation goes on after a reset")
		}
	})
}

// refuse makes every start that goes on in a conversation end with words.
func (w *fakeCity) refuse(output string) {
	w.fake.set(func(f *fake) {
		f.onCommand = func(command string) error {
			if !strings.Contains(command, "--resume") {
				return nil
			}
			return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: output}
		}
	})
}

// TestTheLadderIsBoundedAndSeen lets every resume fail: the agent runs after at
// most three starts, none of the first two counts as a failure, and the reason is
// in the explanation while it runs.
func TestTheLadderIsBoundedAndSeen(t *testing.T) {
	for output, failure := range map[string]string{
		"No conversation found with session ID":     "not found",
		"Error: session ID already in use":          "in use",
		"Error: this conversation has expired":      "expired",
		"it belongs to another directory, go there": "wrong folder",
	} {
		t.Run(failure, func(t *testing.T) {
			inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
				talks(w)
				w.settings.MaxRestarts = 2
				w.begin()
				id := w.conversation("a", "--id")
				w.after(time.Minute)
				starts := w.fake.number("start")
				w.refuse(output)
				w.fake.end("gc-town-a", 3)
				w.after(10 * time.Second)
				w.want("a", client.StateRunning)
				if n := w.fake.number("start") - starts; n > 3 {
					t.Errorf("%d starts, want 3 at most", n)
				}
				if now := w.conversation("a", "--id"); now == id {
					t.Error("the conversation is still the old one")
				}
				e, err := w.c.Explain(t.Context(), "a")
				if err != nil || !slices.ContainsFunc(e.Facts, func(f client.Fact) bool {
					return f.What == "conversation" && strings.Contains(f.Value, id) && strings.Contains(f.Value, failure)
				}) {
					t.Errorf("the explanation does not say why: %+v, %v", e.Facts, err)
				}
				if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 1 {
					t.Errorf("%d failures count, want that of the crash alone", len(r.Failures))
				}
				if !slices.Contains(w.kinds("gc-town-a"), "session.resume_failed") {
					t.Errorf("no event reports it: %v", w.kinds("gc-town-a"))
				}
			})
		})
	}
}

// TestAFailureThatNobodyUnderstandsCounts is an agent that cannot start at all:
// it comes into quarantine, and its conversation is there afterwards.
func TestAFailureThatNobodyUnderstandsCounts(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		talks(w)
		w.settings.MaxRestarts = 5
		w.begin()
		id := w.conversation("a", "--id")
		w.fake.set(func(f *fake) {
			f.onCommand = func(string) error {
				return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: "the license has expired"}
			}
		})
		w.fake.end("gc-town-a", 3)
		w.after(10 * time.Minute)
		w.want("a", client.StateQuarantined)
		w.fake.set(func(f *fake) { f.onCommand = nil })
		w.after(time.Hour)
		if now := w.conversation("a", "--resume"); now != id {
			t.Errorf("the conversation is %s, want %s", now, id)
		}
	})
}

// TestTheLastEndStaysVisible wants to know how a previous instance ended while
// the next one runs, also of a later controller.
func TestTheLastEndStaysVisible(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.fake.end("gc-town-a", 7)
		w.after(10 * time.Second)
		w.want("a", client.StateRunning)
		check := func() {
			t.Helper()
			e, err := w.c.Explain(t.Context(), "a")
			s, _ := w.c.Session(t.Context(), "a")
			if err != nil || !strings.Contains(e.Exit, "7") || e.Output != "screen of gc-town-a" || s.Exit != e.Exit || s.LastScreen != e.Output {
				t.Errorf("the explanation has %q, %q, the session %q, %q; want how the previous one ended", e.Exit, e.Output, s.Exit, s.LastScreen)
			}
		}
		check()
		w.end()
		w.begin()
		synctest.Wait()
		check()
	})
}

// TestAStartThatWasCutOffIsInItsConversation ends the controller in a start: the
// next one takes the agent over, and knows its conversation.
func TestAStartThatWasCutOffIsInItsConversation(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		talks(w)
		w.begin()
		id := w.conversation("a", "--id")
		w.end()
		r := w.records.record(t, "gc-town-a") // as it was when the start began
		r.Conversation.Begun = false
		if err := w.records.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		w.begin()
		w.fake.end("gc-town-a", 3)
		w.after(10 * time.Second)
		if now := w.conversation("a", "--resume"); now != id {
			t.Errorf("the conversation is %s, want %s", now, id)
		}
	})
}

// TestSomebodyElsesStartIsInNoConversationOfOurs replaces the agent behind the
// controller's back: what waits for the conversation is not for that one.
func TestSomebodyElsesStartIsInNoConversationOfOurs(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		talks(w)
		w.begin()
		id := w.conversation("a", "--id")
		w.fake.set(func(f *fake) {
			s := f.sessions["gc-town-a"]
			f.sessions["gc-town-a"] = &fakeSession{token: "foreign", cfg: s.cfg, meta: s.meta, began: f.now()}
			f.emit(runtime.Event{Kind: runtime.EventStarted, Session: "gc-town-a"})
		})
		w.after(time.Second)
		if v, err := w.c.Snapshot("a"); err != nil || !v.Running || v.Conversation.ID != "" {
			t.Errorf("the view of another's instance is %+v, %v", v, err)
		}
		w.fake.end("gc-town-a", 3)
		w.after(10 * time.Second)
		if now := w.conversation("a", "--resume"); now != id {
			t.Errorf("the conversation is %s, want %s", now, id)
		}
	})
}
