package agents

import (
	"slices"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// TestStatusSaysWhyAnAgentMakesNoProgress: while a real agent CLI repeats a request that failed
// the status says so, with the attempt; when the model refuses the login the status has its words,
// the next prompt waits, and gc resume has it delivered. A turn that works ends both.
func TestStatusSaysWhyAnAgentMakesNoProgress(t *testing.T) {
	together(t)
	for _, name := range driven("claude", "codex", "gemini", "opencode", "pi") {
		t.Run(name, func(t *testing.T) {
			together(t)
			c := bed.Open(t, "pty", bed.Member{Name: "one", CLI: name})
			a := of(t, c, "one")
			recordOnFailure(t, a.found, "obstacles")
			a.ready()
			a.primed()

			a.Model.Fail(mockmodel.Fault{Count: -1, Status: 529, Message: "Overloaded"})
			a.sent("Retry this")
			began := time.Now()
			retrying := a.hindered(func(o *client.AgentObstacle) bool {
				return o != nil && o.Kind == client.ObstacleRetrying && o.Attempt > 0
			})
			seen := time.Since(began)
			a.Model.ClearFaults()
			a.hindered(func(o *client.AgentObstacle) bool { return o == nil })
			a.ready()

			a.Model.Fail(mockmodel.Fault{Count: -1, Status: 403, Message: "mock forbidden"})
			a.sent("Refuse this")
			login := a.hindered(func(o *client.AgentObstacle) bool { return o != nil && o.Kind == client.ObstacleLogin })
			if login.Detail == "" || login.ProbeAt.Before(time.Now()) {
				t.Errorf("a refused login shows %+v, want its words and the time of the next prompt", login)
			}
			a.Model.ClearFaults()
			waits := a.sent("Work on this")
			if r, err := c.Client.Receipt(t.Context(), waits.ID, ""); err != nil || r.State != client.ReceiptQueued && r.State != client.ReceiptAccepted {
				t.Errorf("while the login is needed a prompt is %s (%v)", r.State, err)
			}
			if out, err := c.Run(t.Context(), "resume", "one"); err != nil {
				t.Fatalf("gc resume: %v\n%s", err, out)
			}
			ctx, cancel := a.stepContext()
			defer cancel()
			if r, err := c.Client.Receipt(ctx, waits.ID, client.ReceiptConsumed); err != nil || !slices.Contains([]string{client.ReceiptSubmitted, client.ReceiptConsumed}, r.State) {
				a.fail("after gc resume the prompt is %s (%s): %v", r.State, r.Reason, err)
			}
			a.hindered(func(o *client.AgentObstacle) bool { return o == nil })
			logFigure(t, a.found, "obstacles", "after 529: %q, shown %s after the prompt; after 403: %q; gc resume delivers the next prompt",
				retrying.String(), seen.Round(100*time.Millisecond), login.String())
			closed(a)
		})
	}
}

// TestATurnWithToolsIsNoRepeatedRequest: an agent whose requests to the model look alike to its hook, because they differ only in
// tool calls and their results, has no obstacle. One call names a tool that does not exist, for which no other hook is called.
func TestATurnWithToolsIsNoRepeatedRequest(t *testing.T) {
	together(t)
	for _, name := range driven("gemini") {
		t.Run(name, func(t *testing.T) {
			together(t)
			a := of(t, bed.Open(t, "pty", bed.Member{Name: "one", CLI: name}), "one")
			a.ready()
			a.primed()
			a.prompt(`Use tools [[call:no_such_tool:{"a":"b"}]] [[call:list_directory:{"dir_path":"."}]] [[call:no_such_tool:{"a":"b"}]] [[call:no_such_tool:{"a":"b"}]]`, client.ReceiptConsumed)
			a.ready()
			calls := 0
			for _, r := range a.Model.Requests() {
				calls += len(r.Calls)
			}
			if calls != 4 {
				t.Errorf("the model made %d calls, want 4", calls)
			}
			events, err := a.Client.PastEvents(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events.Events {
				if e.Kind == "session.obstacle" {
					t.Errorf("the agent has an obstacle: %s", e.Text)
				}
			}
			closed(a)
		})
	}
}

// sent sends a prompt and does not wait for it.
func (a *agent) sent(text string) client.Receipt {
	a.t.Helper()
	r, err := a.Client.Nudge(a.t.Context(), a.name, client.NudgeRequest{Text: text})
	if err != nil {
		a.fail("takes no prompt: %v", err)
	}
	return r
}

// hindered waits until the status shows what is wanted of the agent's obstacle, and returns it.
func (a *agent) hindered(wanted func(*client.AgentObstacle) bool) client.AgentObstacle {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	var last *client.AgentObstacle
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	for {
		status, err := a.Client.Status(ctx)
		if err != nil {
			a.fail("no status: %v; the obstacle was %+v", err, last)
		}
		for i := range status.Agents {
			if status.Agents[i].Name == a.name {
				last = status.Agents[i].Obstacle
			}
		}
		if wanted(last) {
			if last == nil {
				return client.AgentObstacle{}
			}
			return *last
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			a.fail("the obstacle is %+v", last)
		}
	}
}
