package controller

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/service/questions"
	"gascity/runtime"
)

// An agent in a turn is removed from the configuration. It is stopped after the turn. Until then plan and
// status say which change waits, and for what.
func TestRemovedAgentStopsAfterItsTurn(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Second)
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[1:] })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Hour)
		if !w.provider.alive("gc-town-a") {
			t.Fatal("a save of the configuration stopped a busy agent")
		}
		p, err := w.c.Plan(t.Context())
		if err != nil || len(p.Actions) != 2 || p.Actions[1].Verb != "wait" || !strings.Contains(p.Actions[1].Reason, "not configured any more; deferred while the agent is busy") {
			t.Errorf("the plan is %+v, %v; want that the stop waits for the end of the turn", p.Actions, err)
		}
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(time.Second)
		if w.provider.alive("gc-town-a") {
			t.Errorf("it still runs after its turn: %+v", w.agent("a"))
		}
	})
}

// A removed agent that is busy continues to run when another controller takes over.
func TestRemovedBusyAgentRunsUnderTheNextController(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Second)
		w.stop()
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[1:] })
		w.start()
		w.advance(time.Minute)
		if !w.provider.alive("gc-town-a") {
			t.Fatal("the next controller stopped a busy agent")
		}
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(time.Second)
		if w.provider.alive("gc-town-a") {
			t.Errorf("it still runs after its turn: %+v", w.agent("a"))
		}
	})
}

// gc apply --now does not wait for the turn.
func TestApplyDoesNotWait(t *testing.T) {
	inTestCity(t, []string{"gone", "changed", "busy"}, func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		for _, name := range []string{"gone", "changed", "busy"} {
			w.provider.setActivity("gc-town-"+name, runtime.ActivityBusy)
		}
		w.advance(time.Second)
		w.edit(func(d *plan.Desired) {
			d.Sessions = d.Sessions[1:]
			d.Sessions[0].Config.WorkDir = "/new"
		})
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Hour)
		if after := w.provider.lives(); len(after) != 3 || after["gc-town-changed"] != before["gc-town-changed"] {
			t.Fatalf("before: %v, after: %v; want that all waits", before, after)
		}
		done, err := w.c.Apply(t.Context(), client.ApplyRequest{})
		if err != nil || !done.Changed {
			t.Fatalf("apply says %+v, %v", done, err)
		}
		w.advance(time.Second)
		after := w.provider.lives()
		if after["gc-town-gone"] != "" || after["gc-town-changed"] == before["gc-town-changed"] || after["gc-town-busy"] != before["gc-town-busy"] {
			t.Errorf("before: %v, after: %v; want the removed one gone, the changed one new, the other as it was", before, after)
		}
		if done, err := w.c.Apply(t.Context(), client.ApplyRequest{}); err != nil || done.Changed {
			t.Errorf("a second apply says %+v, %v; want that nothing waits", done, err)
		}
	})
}

// A removed agent of unknown activity counts as busy. After the limit a person is asked, and only the
// answer stops it.
func TestRemovedAgentOfUnknownActivityIsStoppedOnlyByAnAnswer(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.provider.noSense = true
		w.start()
		desk := questions.New(questions.Options{
			City: w.c, Store: w.records, Events: w.log, Logger: w.options().Logger, Now: time.Now,
			Random: rand.Text, Policy: func(string) questions.Policy { return questions.Policy{} }, Sense: func(string) {},
			Notify: func(context.Context, client.Pending) error { return nil },
		})
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- desk.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("the questions ended with %v", err)
			}
		}()
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[1:] })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		question := func() (client.Pending, bool) {
			desk.SessionChanged("gc-town-a")
			w.advance(time.Second)
			all, err := desk.Pending(t.Context(), "", "")
			if err != nil || len(all) == 0 {
				return client.Pending{}, false
			}
			return all[0], true
		}
		w.advance(9 * time.Minute)
		if q, asked := question(); asked {
			t.Fatalf("asked too early: %+v", q)
		}
		w.advance(time.Minute)
		q, asked := question()
		if !asked || !strings.Contains(q.Prompt, "Stop a now?") || !slices.Equal(q.Options, []string{"Stop it now", "Wait longer"}) {
			t.Fatalf("after the limit the question is %+v (%v)", q, asked)
		}
		if _, err := desk.Respond(t.Context(), q.ID, client.RespondRequest{Option: "2"}); err != nil {
			t.Fatal(err)
		}
		w.advance(9 * time.Minute)
		if q, asked := question(); asked || !w.provider.alive("gc-town-a") {
			t.Fatalf("after the answer to wait: %+v, alive %v", q, w.provider.alive("gc-town-a"))
		}
		w.advance(24 * time.Hour)
		q, asked = question()
		if !asked || !w.provider.alive("gc-town-a") {
			t.Fatalf("after a day without an answer: asked %v, alive %v; want asked and alive", asked, w.provider.alive("gc-town-a"))
		}
		if _, err := desk.Respond(t.Context(), q.ID, client.RespondRequest{Option: "Stop it now"}); err != nil {
			t.Logf("answering says: %v", err)
		}
		w.advance(10 * time.Second)
		if w.provider.alive("gc-town-a") {
			t.Error("it still runs although the answer was to stop it")
		}
	})
}

// A busy agent gets another name in the configuration. It finishes its turn in the old session, and
// continues the same conversation under the new name.
func TestARenamedAgentKeepsItsConversation(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Section, d.Sessions[1].Section = "one", "two" })
		useConversations(w)
		w.start()
		_, id := w.command("gc-town-a")
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Second)
		w.edit(func(d *plan.Desired) {
			d.Sessions[0] = agentSession("c")
			d.Sessions[0].Section, d.Sessions[0].Config.Command = "one", "run a"
		})
		useConversations(w)
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Hour)
		if !w.provider.alive("gc-town-a") || w.provider.alive("gc-town-c") {
			t.Fatalf("%v run; want the busy agent alone under its old session", w.provider.lives())
		}
		if a := w.agent("c"); !strings.Contains(a.Reason, "renamed to c; deferred while the agent is busy") && !strings.Contains(a.Reason, "must end first") {
			t.Errorf("the status says %+v", a)
		}
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(5 * time.Second)
		if lives := w.provider.lives(); lives["gc-town-a"] != "" || lives["gc-town-c"] == "" {
			t.Fatalf("%v run after the turn; want it under its new name", lives)
		}
		if how, is := w.command("gc-town-c"); how != "--resume" || is != id {
			t.Errorf("it was started with %s %s, want --resume %s", how, is, id)
		}
	})
}
