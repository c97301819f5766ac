package controlapi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/fakecity"
)

func TestWhatCanNeverSucceedIsRefusedAtTheEdge(t *testing.T) {
	city, c := serve(t, Options{})
	ctx := bounded(t)
	nudge := func(req client.NudgeRequest) error { _, err := c.Nudge(ctx, "worker", req); return err }
	await := func(req client.WaitRequest) error { _, err := c.Await(ctx, req); return err }
	empty, negative, odd := "", -time.Second, "odd"
	edit := func(req client.EditRequest) error { _, err := c.EditPrompt(ctx, "p-0001", req); return err }
	for want, err := range map[string]error{
		"the prompt is empty":               nudge(client.NudgeRequest{}),
		"not valid UTF-8":                   nudge(client.NudgeRequest{Text: "a\xff"}),
		"the longest has 1048576":           nudge(client.NudgeRequest{Text: strings.Repeat("x", 1<<20+1)}),
		"no absolute path":                  nudge(client.NudgeRequest{Files: []string{"notes.md"}}),
		"ttl_ns is -1s":                     nudge(client.NudgeRequest{Text: "x", TTL: -time.Second}),
		"one of \"system, urgent, normal\"": nudge(client.NudgeRequest{Text: "x", Priority: "high"}),
		"at most 256 bytes":                 nudge(client.NudgeRequest{Text: "x", Key: strings.Repeat("k", 300)}),
		"submitted, consumed":               nudge(client.NudgeRequest{Text: "x", Wait: "queued"}),
		"nothing is to be changed":          edit(client.EditRequest{}),
		"withdraw it instead":               edit(client.EditRequest{Text: &empty}),
		"ttl_ns is -1s, want":               edit(client.EditRequest{TTL: &negative}),
		"system, urgent, normal":            edit(client.EditRequest{Priority: &odd}),
		"either an option or a text": func() error {
			_, err := c.Respond(ctx, "q", client.RespondRequest{})
			return err
		}(),
		"needs an owner": func() error {
			_, err := c.AddWait(ctx, client.WaitRequest{Target: "worker", For: client.WaitIdle})
			return err
		}(),
		"nothing is called \"happy\"": await(client.WaitRequest{Target: "worker", For: "happy"}),
		"the target is missing":       await(client.WaitRequest{For: client.WaitIdle}),
		"needs arg":                   await(client.WaitRequest{For: client.WaitReceipt}),
		"not an RFC 3339":             await(client.WaitRequest{For: client.WaitTime, Arg: "noon"}),
		"the reason has": func() error {
			_, err := c.Sleep(ctx, "worker", client.LifecycleRequest{Reason: strings.Repeat("r", 5000)})
			return err
		}(),
	} {
		if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an invalid request and %q", err, want)
		}
	}
	if got := city.Prompts(); len(got) > 0 {
		t.Errorf("something was delivered all the same: %q", got)
	}
}

func TestAPromptIsWaitedFor(t *testing.T) {
	city, c := serve(t, Options{})
	city.Set("worker", func(s *client.Session) { s.Activity.State = "busy" })
	got := make(chan client.Receipt, 1)
	go func() {
		r, err := c.Nudge(bounded(t), "worker", client.NudgeRequest{Text: "x", Wait: client.ReceiptSubmitted})
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	untilQueued(t, c, 1)
	city.Set("worker", func(s *client.Session) { s.Activity.State = "idle" })
	if r := <-got; r.State != client.ReceiptSubmitted || len(r.Steps) < 3 {
		t.Errorf("the receipt is %+v, want a submitted one with its steps", r)
	}
}

// untilQueued waits until so many prompts wait.
func untilQueued(t *testing.T, c *client.Client, n int) {
	t.Helper()
	ctx := bounded(t)
	for {
		list, err := c.Queue(ctx, "", client.OnlyOpen)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == n {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d prompts wait, want %d", len(list), n)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestAWaitEndsWithItsCaller: the prompt stays, the wait does not.
func TestAWaitEndsWithItsCaller(t *testing.T) {
	city := &watchedCity{City: &fakecity.City{Root: shortDir(t)}, ended: make(chan error, 1)}
	city.Add("worker", client.StateRunning)
	city.Set("worker", func(s *client.Session) { s.Activity.State = "busy" })
	c := serveCity(t, city, city.Root, Options{})
	ctx, hangUp := context.WithCancel(bounded(t))
	called := make(chan error, 1)
	go func() {
		_, err := c.Nudge(ctx, "worker", client.NudgeRequest{Text: "x", Wait: client.ReceiptConsumed})
		called <- err
	}()
	untilQueued(t, c, 1)
	hangUp()
	if err := <-called; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	select {
	case err := <-city.ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the wait ended with %v", err)
		}
	case <-bounded(t).Done():
		t.Error("the wait goes on without its caller")
	}
	untilQueued(t, c, 1)
}

// watchedCity reports how a wait for a receipt ended.
type watchedCity struct {
	*fakecity.City
	ended chan error
}

func (c *watchedCity) Receipt(ctx context.Context, id, wait string) (client.Receipt, error) {
	r, err := c.City.Receipt(ctx, id, wait)
	c.ended <- err
	return r, err
}

func TestAWaitEndsWithTheController(t *testing.T) {
	city := &fakecity.City{Root: shortDir(t)}
	city.Add("worker", client.StateRunning)
	c, stop := start(t, NewServer(city, Options{}), city.Root)
	got := make(chan error, 1)
	began := city.Awaited()
	go func() {
		_, err := c.Await(bounded(t), client.WaitRequest{Target: "worker", For: client.WaitStopped})
		got <- err
	}()
	<-began
	stop()
	if err := <-got; !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "ask the next one") {
		t.Errorf("the wait ended with %v, want unavailable and what to do", err)
	}
}

func TestTheTimeOfAWaitIsKept(t *testing.T) {
	_, c := serve(t, Options{})
	_, err := c.Await(bounded(t), client.WaitRequest{Target: "worker", For: client.WaitStopped, Timeout: 20 * time.Millisecond})
	if !errors.Is(err, client.ErrTimeout) || !strings.Contains(err.Error(), "20ms") {
		t.Errorf("the wait ended with %v, want timed out after 20ms", err)
	}
	w, err := c.Await(bounded(t), client.WaitRequest{Target: "worker", For: client.WaitIdle, Timeout: time.Hour})
	if err != nil || w.State != client.WaitFulfilled {
		t.Errorf("an idle agent's wait is %q, %v", w.State, err)
	}
}

func TestPatienceIsNotForWaits(t *testing.T) {
	city, slow := serve(t, Options{})
	city.Set("worker", func(s *client.Session) { s.Activity.State = "busy" })
	r, err := slow.Nudge(bounded(t), "worker", client.NudgeRequest{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	c := &client.Client{Root: city.Root, Version: "test", Patience: 50 * time.Millisecond}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Receipt(ctx, r.ID, client.ReceiptSubmitted); !errors.Is(err, client.ErrTimeout) || ctx.Err() == nil {
		t.Errorf("the wait ended with %v before its own time", err)
	}
}

func TestEventsSinceATime(t *testing.T) {
	city, c := serve(t, Options{})
	old := time.Now().Add(-time.Hour)
	city.Log().Append(client.Event{Time: old, Kind: "old"})
	city.Log().Append(client.Event{Time: time.Now(), Kind: "new"})
	query := client.EventQuery{Since: old.Add(time.Minute)}
	page, err := c.FindEvents(bounded(t), query)
	if err != nil || len(page.Events) != 1 || page.Events[0].Kind != "new" || page.Last != 2 {
		t.Errorf("found %+v, %v, want the new event alone", page, err)
	}
	for e, err := range c.FollowEvents(bounded(t), query) {
		if err != nil || e.Kind != "new" {
			t.Errorf("followed %+v, %v, want the new event first", e, err)
		}
		break
	}
}

func TestEventsOfOneAgent(t *testing.T) {
	city, c := serve(t, Options{})
	mine := client.Agent{Name: "worker", Session: "gc-town-worker"}
	city.Emit("first", mine, "")
	city.Emit("other", client.Agent{Name: "worker-1", Session: "gc-town-worker-1"}, "")
	city.Emit("city", client.Agent{}, "")
	for _, name := range []string{"worker", "gc-town-worker"} {
		page, err := c.FindEvents(bounded(t), client.EventQuery{Target: name})
		if err != nil || len(page.Events) != 1 || page.Events[0].Kind != "first" || page.Last != 3 {
			t.Errorf("found %+v, %v of %s, want the first event alone", page, err, name)
		}
	}
	for e, err := range c.FollowEvents(bounded(t), client.EventQuery{Target: "worker"}) {
		switch {
		case err == nil && e.Kind == "first":
			city.Emit("other", client.Agent{Name: "worker-1"}, "")
			city.Emit("second", mine, "")
			continue
		case err != nil || e.Kind != "second":
			t.Errorf("followed %+v, %v, want the second event of the worker", e, err)
		}
		break
	}
}

func TestAPreviewNeedsACityThatCan(t *testing.T) {
	city := &fakecity.City{Root: shortDir(t)}
	c := serveCity(t, onlyCity{city}, city.Root, Options{})
	if _, err := c.Preview(bounded(t), client.PreviewRequest{Config: "x"}); !errors.Is(err, client.ErrUnsupported) {
		t.Errorf("the preview ended with %v, want unsupported", err)
	}
}

// onlyCity hides the extensions of a city.
type onlyCity struct{ City }
