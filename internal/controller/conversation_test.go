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

// useConversations gives every agent flags for a new conversation and for a resumed one.
func useConversations(w *testCity) {
	w.edit(func(d *plan.Desired) {
		for _, s := range d.Sessions {
			s.Config.WorkDir = "/town"
			s.Resume = plan.Resume{Again: s.Config.Command + " --resume " + plan.ConversationMark, New: s.Config.Command + " --id " + plan.ConversationMark}
		}
	})
}

// command returns the flag and the id of the conversation in the command of a session.
func (w *testCity) command(name string) (how, id string) {
	w.t.Helper()
	w.provider.mu.Lock()
	defer w.provider.mu.Unlock()
	s := w.provider.sessions[name]
	if s == nil {
		w.t.Fatalf("%s does not run", name)
	}
	words := strings.Fields(s.cfg.Command)
	return words[len(words)-2], words[len(words)-1]
}

// conversation checks that the snapshot and the store have the conversation of the command.
func (w *testCity) conversation(agent, how string) string {
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

func TestConversationIsSavedBeforeTheStart(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		useConversations(w)
		var stored session.Record
		w.provider.onStart = func(context.Context, string) error {
			stored = w.records.record(t, "gc-town-a")
			return nil
		}
		w.start()
		if id := w.conversation("a", "--id"); stored.Conversation.ID != id || stored.Conversation.Dir != "/town" {
			t.Errorf("the store had %+v when %s was started", stored.Conversation, id)
		}
	})
}

// TestEveryRestartContinuesTheConversation checks each way in which an
// agent is started again.
func TestEveryRestartContinuesTheConversation(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		useConversations(w)
		w.start()
		id := w.conversation("a", "--id")
		still := func(what string) {
			t.Helper()
			w.advance(20 * time.Second)
			if now := w.conversation("a", "--resume"); now != id {
				t.Errorf("after %s the conversation is %s, want %s", what, now, id)
			}
		}
		w.provider.end("gc-town-a", 3)
		still("a crash")
		w.provider.vanish("gc-town-a")
		w.advance(time.Minute)
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
		w.advance(2 * time.Minute)
		still("a drift")
		starts := w.provider.number("start")
		w.edit(func(d *plan.Desired) {
			s := d.Sessions[0]
			s.Config.Command = "other a"
			s.Resume.Again, s.Resume.New = "other a --resume "+plan.ConversationMark, "other a --id "+plan.ConversationMark
		})
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(2 * time.Minute)
		still("a relaunch")
		if w.provider.number("relaunch") != 1 || w.provider.number("start") != starts {
			t.Errorf("there were %d relaunches, and %d starts", w.provider.number("relaunch"), w.provider.number("start")-starts)
		}
		w.stop()
		w.provider.vanish("gc-town-a") // the host restarts
		w.start()
		still("a reboot")
	})
}

func TestResetStartsANewConversation(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		useConversations(w)
		w.start()
		id := w.conversation("a", "--id")
		done, err := w.c.Reset(t.Context(), "a", client.LifecycleRequest{})
		if err != nil || !done.Changed {
			t.Fatalf("the reset gives %+v, %v", done, err)
		}
		w.provider.end("gc-town-a", 3)
		w.advance(10 * time.Second)
		if now := w.conversation("a", "--id"); now == id {
			t.Error("the conversation goes on after a reset")
		}
	})
}

// refuseResume makes every start that resumes a conversation fail with an output.
func (w *testCity) refuseResume(output string) {
	w.provider.set(func(f *testProvider) {
		f.onCommand = func(command string) error {
			if !strings.Contains(command, "--resume") {
				return nil
			}
			return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: output}
		}
	})
}

// TestFailedResumesAreBoundedAndExplained makes every resume fail. The agent runs after at
// most three starts, the first two do not count as failures, and the explanation
// has the reason while it runs.
func TestFailedResumesAreBoundedAndExplained(t *testing.T) {
	for output, failure := range map[string]string{
		"No conversation found with session ID":     "not found",
		"Error: session ID already in use":          "in use",
		"Error: this conversation has expired":      "expired",
		"it belongs to another directory, go there": "wrong folder",
	} {
		t.Run(failure, func(t *testing.T) {
			inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
				useConversations(w)
				w.settings.MaxRestarts = 2
				w.start()
				id := w.conversation("a", "--id")
				w.advance(time.Minute)
				starts := w.provider.number("start")
				w.refuseResume(output)
				w.provider.end("gc-town-a", 3)
				w.advance(10 * time.Second)
				w.want("a", client.StateRunning)
				if n := w.provider.number("start") - starts; n > 3 {
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

// TestUnknownResumeFailureCounts has an agent whose starts fail for an unknown reason.
// It is quarantined, and keeps its conversation.
func TestUnknownResumeFailureCounts(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		useConversations(w)
		w.settings.MaxRestarts = 5
		w.start()
		id := w.conversation("a", "--id")
		w.provider.set(func(f *testProvider) {
			f.onCommand = func(string) error {
				return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: "the license has expired"}
			}
		})
		w.provider.end("gc-town-a", 3)
		w.advance(10 * time.Minute)
		w.want("a", client.StateQuarantined)
		w.provider.set(func(f *testProvider) { f.onCommand = nil })
		w.advance(time.Hour)
		if now := w.conversation("a", "--resume"); now != id {
			t.Errorf("the conversation is %s, want %s", now, id)
		}
	})
}

// TestLastExitStaysVisible checks that the exit of the previous instance is shown while
// the next one runs, also by a later controller.
func TestLastExitStaysVisible(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.provider.Print("gc-town-a", "last words")
		w.provider.end("gc-town-a", 7)
		w.advance(10 * time.Second)
		w.want("a", client.StateRunning)
		check := func() {
			t.Helper()
			e, err := w.c.Explain(t.Context(), "a")
			s, _ := w.c.Session(t.Context(), "a")
			if err != nil || !strings.Contains(e.Exit, "7") || e.Output != "fake agent\nlast words" || s.Exit != e.Exit || s.LastScreen != e.Output {
				t.Errorf("the explanation has %q, %q, the session %q, %q; want how the previous one ended", e.Exit, e.Output, s.Exit, s.LastScreen)
			}
		}
		check()
		w.stop()
		w.start()
		synctest.Wait()
		check()
	})
}

// TestInterruptedStartKeepsItsConversation stops the controller during a start. The
// next one takes over the agent with its conversation.
func TestInterruptedStartKeepsItsConversation(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		useConversations(w)
		w.start()
		id := w.conversation("a", "--id")
		w.stop()
		r := w.records.record(t, "gc-town-a") // as at the beginning of the start
		r.Conversation.Begun = false
		if err := w.records.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.provider.end("gc-town-a", 3)
		w.advance(10 * time.Second)
		if now := w.conversation("a", "--resume"); now != id {
			t.Errorf("the conversation is %s, want %s", now, id)
		}
	})
}

// TestForeignInstanceHasNoConversation replaces the instance without the
// controller. The new instance is not in the conversation, so prompts for that do not reach it.
func TestForeignInstanceHasNoConversation(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		useConversations(w)
		w.start()
		id := w.conversation("a", "--id")
		w.provider.set(func(f *testProvider) {
			s := f.sessions["gc-town-a"]
			s.token, s.began = "foreign", f.now()
			f.emit(runtime.Event{Kind: runtime.EventStarted, Session: "gc-town-a"})
		})
		w.advance(time.Second)
		if v, err := w.c.Snapshot("a"); err != nil || !v.Running || v.Conversation.ID != "" {
			t.Errorf("the view of another's instance is %+v, %v", v, err)
		}
		w.provider.end("gc-town-a", 3)
		w.advance(10 * time.Second)
		if now := w.conversation("a", "--resume"); now != id {
			t.Errorf("the conversation is %s, want %s", now, id)
		}
	})
}
