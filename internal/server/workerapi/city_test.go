package workerapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"gascity/internal/domain/session"
	"gascity/worker"
)

// fakeCity is a city with two runs and an owner. It answers every request and records it.
type fakeCity struct {
	mu    sync.Mutex
	calls []string
	left  int // streams that have ended
	fail  error
	items chan session.StreamItem // of each stream; nil: it ends at once
}

// The tokens of the fake city.
const (
	tokenOne   = "token-of-run-one-4711"
	tokenTwo   = "token-of-run-two-4711"
	tokenDead  = "token-of-a-dead-run-4711"
	tokenOwner = "token-of-the-owner-4711"
)

func (c *fakeCity) called(name, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == "left" {
		c.left++
		return nil
	}
	c.calls = append(c.calls, name+" "+id)
	return c.fail
}

func (c *fakeCity) resetCalls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

func (c *fakeCity) ended() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

func (c *fakeCity) failWith(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

func (c *fakeCity) Authenticate(token string) (session.RunCaller, error) {
	switch token {
	case tokenOne:
		return session.RunCaller{Run: "one"}, nil
	case tokenTwo:
		return session.RunCaller{Run: "two"}, nil
	case tokenOwner:
		return session.RunCaller{Owner: true}, nil
	case tokenDead:
		return session.RunCaller{}, fmt.Errorf("%w: it has ended", worker.ErrFenced)
	}
	return session.RunCaller{}, fmt.Errorf("%w: this token is unknown", worker.ErrUnauthorized)
}

func (c *fakeCity) Lifecycle(_ context.Context, id string, _ worker.Lifecycle) (worker.LifecycleAnswer, error) {
	return worker.LifecycleAnswer{Accepted: true, Late: true}, c.called("lifecycle", id)
}

func (c *fakeCity) Telemetry(_ context.Context, id string, _ worker.Telemetry) (worker.TelemetryAnswer, error) {
	return worker.TelemetryAnswer{Recorded: 1, Known: 2}, c.called("telemetry", id)
}

func (c *fakeCity) Interaction(_ context.Context, id string, _ worker.Interaction) (worker.InteractionAnswer, error) {
	return worker.InteractionAnswer{ID: "q"}, c.called("interaction", id)
}

func (c *fakeCity) ReportHealth(_ context.Context, id string, _ worker.Health) error {
	return c.called("report-health", id)
}

func (c *fakeCity) Ack(_ context.Context, id string, _ worker.Ack) error { return c.called("ack", id) }

func (c *fakeCity) Prompt(_ context.Context, p worker.Prompt, wait worker.Progress) (worker.PromptAnswer, error) {
	return worker.PromptAnswer{Accepted: true, Queued: true, Position: 1, ID: "r", State: "queued", Reason: string(wait)}, c.called("prompt", p.RunID)
}

func (c *fakeCity) Context(_ context.Context, x worker.Context) (worker.ContextAnswer, error) {
	return worker.ContextAnswer{Accepted: true, ID: "c", Skipped: []string{"role"}}, c.called("context", x.RunID)
}

func (c *fakeCity) ClaimContext(_ context.Context, id string, _ worker.ContextClaim) (worker.Context, error) {
	return worker.Context{RunID: id, Mode: worker.FullContext, Sections: []worker.Section{{Type: "role", Content: "x", Nonce: "gc-n"}}}, c.called("claim-context", id)
}

func (c *fakeCity) Identity(_ context.Context, x worker.Identity) (worker.IdentityAnswer, error) {
	return worker.IdentityAnswer{Accepted: true, ID: "i"}, c.called("identity", x.RunID)
}

func (c *fakeCity) Interrupt(_ context.Context, x worker.Interrupt) (worker.InterruptAnswer, error) {
	return worker.InterruptAnswer{Confirmed: true, Detail: "d"}, c.called("interrupt", x.RunID)
}

func (c *fakeCity) Health(_ context.Context, id string) (worker.Health, error) {
	at := time.Now()
	return worker.Health{Status: worker.Healthy, RunID: id, CurrentState: "idle", LastActivity: &at}, c.called("health", id)
}

func (c *fakeCity) Authorize(_ context.Context, id string, _ worker.Call) (worker.Decision, error) {
	return worker.Decision{Allowed: true, Effect: worker.Allow, Rule: "r", Reason: "w", Interaction: "q"}, c.called("authorize", id)
}

func (c *fakeCity) Stream(ctx context.Context, id string, _ uint64) (<-chan session.StreamItem, error) {
	if err := c.called("stream", id); err != nil {
		return nil, err
	}
	out := make(chan session.StreamItem)
	go func() { // ends with ctx
		defer close(out)
		defer func() { _ = c.called("left", id) }()
		for {
			select {
			case i, open := <-c.items:
				if !open || c.items == nil {
					return
				}
				select {
				case out <- i:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (c *fakeCity) Events(_ context.Context, id string, _ uint64, _ int) ([]worker.Event, error) {
	return []worker.Event{{Seq: 1, At: time.Now(), RunID: id, Kind: "lifecycle", Data: json.RawMessage(`{"event":"idle"}`)}, {Seq: 2, At: time.Now(), RunID: id, Kind: "connected"}}, c.called("events", id)
}

var errOdd = errors.New("odd: secret detail")
