package controlapi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// TestWaitEndsWhenItsCallerDisconnects checks that a request that waits for a prompt ends when its
// caller disconnects, and that the prompt stays.
func TestWaitEndsWhenItsCallerDisconnects(t *testing.T) {
	city := &watchedCity{stubCity: &stubCity{Root: shortDir(t)}, began: make(chan struct{}), ended: make(chan error, 1)}
	c := serveCity(t, city, city.Root, Options{})
	ctx, hangUp := context.WithCancel(bounded(t))
	called := make(chan error, 1)
	go func() {
		_, err := c.Nudge(ctx, "worker", client.NudgeRequest{Text: "x", Wait: client.ReceiptConsumed})
		called <- err
	}()
	<-city.began
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
}

// watchedCity reports how a wait for a receipt ended.
type watchedCity struct {
	*stubCity
	began chan struct{}
	ended chan error
}

func (*watchedCity) Nudge(context.Context, string, client.NudgeRequest) (client.Receipt, error) {
	return client.Receipt{ID: "p-1", State: client.ReceiptQueued}, nil
}

func (c *watchedCity) Receipt(ctx context.Context, id, _ string) (client.Receipt, error) {
	close(c.began)
	<-ctx.Done()
	c.ended <- context.Cause(ctx)
	return client.Receipt{ID: id}, context.Cause(ctx)
}

// TestWaitEndsWhenTheControllerStops checks that a request that waits gets an error when the
// controller stops.
func TestWaitEndsWhenTheControllerStops(t *testing.T) {
	city := &waitingCity{stubCity: &stubCity{Root: shortDir(t)}, began: make(chan struct{})}
	c, stop := start(t, NewServer(city, Options{}), city.Root)
	got := make(chan error, 1)
	go func() {
		_, err := c.Await(bounded(t), client.WaitRequest{Target: "worker", For: client.WaitStopped})
		got <- err
	}()
	<-city.began
	stop()
	if err := <-got; !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "ask the next controller again") {
		t.Errorf("the wait ended with %v, want unavailable and what to do", err)
	}
}

// waitingCity never sees a condition fulfilled.
type waitingCity struct {
	*stubCity
	began chan struct{}
}

func (c *waitingCity) Await(ctx context.Context, _ client.WaitRequest) (client.Wait, error) {
	close(c.began)
	<-ctx.Done()
	return client.Wait{}, context.Cause(ctx)
}

func TestEventsSinceATime(t *testing.T) {
	city, c := serve(t, Options{})
	old := time.Now().Add(-time.Hour)
	city.log.Append(client.Event{Time: old, Kind: "old"})
	city.log.Append(client.Event{Time: time.Now(), Kind: "new"})
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
	city.emit("first", mine, "")
	city.emit("other", client.Agent{Name: "worker-1", Session: "gc-town-worker-1"}, "")
	city.emit("city", client.Agent{}, "")
	for _, name := range []string{"worker", "gc-town-worker"} {
		page, err := c.FindEvents(bounded(t), client.EventQuery{Target: name})
		if err != nil || len(page.Events) != 1 || page.Events[0].Kind != "first" || page.Last != 3 {
			t.Errorf("found %+v, %v of %s, want the first event alone", page, err, name)
		}
	}
	for e, err := range c.FollowEvents(bounded(t), client.EventQuery{Target: "worker"}) {
		switch {
		case err == nil && e.Kind == "first":
			city.emit("other", client.Agent{Name: "worker-1"}, "")
			city.emit("second", mine, "")
			continue
		case err != nil || e.Kind != "second":
			t.Errorf("followed %+v, %v, want the second event of the worker", e, err)
		}
		break
	}
}
