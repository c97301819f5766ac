package cityservice

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/internal/hookrunner"
	"gascity/internal/service/prompts"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/test/servicetest"
	"gascity/test/storetest"
)

// hookTestCity is a city of one agent, which takes what it is given and never calls a hook.
type hookTestCity struct {
	runtime.Provider
	view     session.Snapshot
	accepted []string // read when everybody rests
}

func (h *hookTestCity) Snapshot(string) (session.Snapshot, error) {
	v := h.view
	v.Provider = h
	return v, nil
}

func (h *hookTestCity) WakeFor(context.Context, string, string) error { return nil }

func (h *hookTestCity) Sense(string) {}

func (h *hookTestCity) HasSynced() bool { return true }

func (h *hookTestCity) Deliver(_ context.Context, _ string, d runtime.Delivery) (runtime.Outcome, error) {
	h.accepted = append(h.accepted, runtime.FlattenText(d.Content))
	return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "composer_emptied+busy"}, nil
}

// TestWhoCannotProveTheGuardWithoutAPromptGetsOne checks that an agent that has not shown that it
// asks the guard gets no prompt, with one exception: if its agent CLI calls no hook before the
// first prompt and it was started without one, it gets the first prompt. The test covers several
// controllers.
func TestWhoCannotProveTheGuardWithoutAPromptGetsOne(t *testing.T) {
	cli := func(late bool) string {
		at := slices.IndexFunc(agentcli.HookNames(), func(name string) bool { known, _ := agentcli.LookupHooks(name); return known.Late == late })
		if at < 0 {
			t.Fatalf("no agent CLI is late: %v", late)
		}
		return agentcli.HookNames()[at]
	}
	const first = "'first prompt'"
	for _, c := range []struct {
		name, hooks, argument string
		rung                  session.Rung
		taken                 int
	}{
		{"resumed", cli(true), first, session.RungResume, 1},
		{"begun without a prompt", cli(true), "", "", 1},
		{"begun with a prompt", cli(true), first, "", 0},
		{"resumed, reports at once", cli(false), first, session.RungResume, 0},
		{"resumed, no hooks", "", first, session.RungResume, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hookTestCity{view: session.Snapshot{
					Agent: "a", Session: "s", State: client.StateRunning, Running: true, Ready: true, Token: "token", Instance: session.PublicInstance("token"),
					Conversation: session.Conversation{Rung: c.rung}, Activity: session.Activity{State: runtime.ActivityReady},
				}}
				store := &storetest.Receipts{}
				desired := plan.Session{Config: runtime.Config{PromptSuffix: c.argument, Env: map[string]string{hookrunner.VariableHooks: c.hooks}}}
				for range 2 { // two controllers
					h.life(t, store, desired)
				}
				e := &Engines{Desired: func(string) plan.Session { return desired }}
				if begins := c.name == "begun with a prompt"; e.Opens(h.view) != begins {
					t.Errorf("that it begins with the prompt of its command line is %v, want %v", !begins, begins)
				}
				if len(h.accepted) != c.taken {
					t.Errorf("it was given %q, want %d", h.accepted, c.taken)
				}
			})
		})
	}
}

// life runs one controller. It sends the session two prompts and checks that a prompt that waits
// has a reason.
func (h *hookTestCity) life(t *testing.T, store prompt.Store, desired plan.Session) {
	t.Helper()
	events := storetest.NewEvents(1000, 0, time.Now)
	e := &Engines{Desired: func(string) plan.Session { return desired }}
	opts := servicetest.WorkerOptions(h, events)
	opts.Regime = func() guard.Regime { return guard.Regime{On: true} }
	e.Workers = workers.New(opts)
	forPrompts := servicetest.PromptOptions(store, h, events)
	forPrompts.PromptHold = e.guardHold
	e.Prompts = prompts.New(forPrompts)
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- e.Prompts.Run(ctx) }()
	for range 2 {
		if _, err := e.Prompts.Nudge(ctx, "a", client.NudgeRequest{Text: "do it"}); err != nil {
			t.Error(err)
		}
	}
	<-time.After(time.Minute) // of the bubble
	synctest.Wait()
	if why := e.guardHold(h.view); !strings.Contains(why, "unguarded") {
		t.Errorf("what waits is held by %q", why)
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
