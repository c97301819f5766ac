package shim

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"gascity/internal/statedir"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// The shim types prompts itself, see [inject.Runner]: a client sends one request for a delivery and gets its outcome.

// DeliverRequest requests the delivery of one prompt. Without a terminal Text are the bytes to write, and Rules are not used.
type DeliverRequest struct {
	// Key identifies the request for a cancellation. [Client.Deliver] sets it.
	Key      string
	Name, ID string // as in [inject.Request]
	Text     []byte // JSON could encode one byte of a string as six
	Rules    screen.Rules
	// Limit is the time after which the delivery is cancelled. [Client.Deliver] sets it from its context; zero means
	// [DeliverLimit].
	Limit time.Duration `json:",omitempty"`

	// As in [inject.Prompt].
	Confirm      time.Duration `json:",omitempty"`
	Answer       bool          `json:",omitempty"`
	AllowChanges bool          `json:",omitempty"`
}

// ResolveRequest asks for the outcome of a delivery.
type ResolveRequest struct {
	Name, ID string // as in [DeliverRequest]
	Rules    screen.Rules
}

type rulesRequest struct{ Rules screen.Rules }

type deliverResult struct {
	Outcome runtime.Outcome
	Error   string `json:",omitempty"`
}

// resultOf returns the outcome and the error of a delivery for the wire.
func resultOf(out runtime.Outcome, err error) deliverResult {
	if err != nil {
		return deliverResult{out, err.Error()}
	}
	return deliverResult{Outcome: out}
}

// DeliverLimit is the longest duration of a delivery.
const DeliverLimit = 15 * time.Minute

// newRunner returns the runner of deliveries into the session's terminal.
func (h *host) newRunner() *inject.Runner {
	return &inject.Runner{
		Acquire: func(ctx context.Context, begin func(context.Context) error) (inject.Lease, func(), error) {
			t, err := h.leaseTerminal(ctx)
			if err != nil {
				return nil, nil, err
			}
			t.begin = begin
			return t, t.close, nil
		},
		Pipe: !h.spec.Terminal,
		Save: func(records []inject.Record) error { return statedir.WriteJSON(h.dir.Deliveries(), records) },
	}
}

// serveDeliver delivers a prompt and returns its outcome. If a delivery with the name has begun before, it returns the outcome
// of that one.
func (h *host) serveDeliver(r *http.Request, req DeliverRequest) (any, error) {
	if req.ID == "" {
		return nil, fmt.Errorf("%w: no ID", errInvalid)
	}
	ctx, cancel := context.WithTimeout(h.ctx, min(cmp.Or(req.Limit, DeliverLimit), DeliverLimit))
	defer cancel()
	out, err := h.runner.Deliver(ctx, r.Context(), &inject.Request{
		Key: req.Key, Name: req.Name, ID: req.ID, Rules: req.Rules,
		Prompt: inject.Prompt{Text: string(req.Text), Confirm: req.Confirm, Answer: req.Answer, AllowChanges: req.AllowChanges},
	})
	if err != nil && h.ctx.Err() != nil {
		out.Detail, err = "the session stopped while the prompt was delivered", nil
	}
	return resultOf(out, err), nil
}

// serveCancel cancels a delivery: that of one request by its key, or that of any client by its name.
func (h *host) serveCancel(r *http.Request) (any, error) {
	if name := r.FormValue("name"); name != "" {
		h.runner.CancelName(name)
		return nil, nil
	}
	h.runner.Cancel(r.FormValue("key"))
	return nil, nil
}

// serveResolve returns the outcome of a delivery. A delivery with the name can no longer begin afterwards.
func (h *host) serveResolve(r *http.Request, req ResolveRequest) (any, error) {
	if req.ID == "" {
		return nil, fmt.Errorf("%w: no ID", errInvalid)
	}
	ctx, cancel := h.requestContext(r)
	defer cancel()
	out, err := h.runner.Resolve(ctx, req.Name, req.ID, req.Rules)
	if errors.Is(err, screen.ErrExited) {
		return nil, err
	}
	return resultOf(out, err), nil
}

// withTerminal returns the handler of a request that has the rules for reading the screen. It waits until no delivery is in progress, and calls do with the
// exclusive right to send input to the session's terminal.
func (h *host) withTerminal(do func(context.Context, inject.Lease, screen.Rules) error) func(*http.Request, rulesRequest) (any, error) {
	return func(r *http.Request, req rulesRequest) (any, error) {
		if !h.spec.Terminal {
			return nil, fmt.Errorf("%w: the session has no terminal", errInvalid)
		}
		ctx, cancel := h.requestContext(r)
		defer cancel()
		t, err := h.leaseTerminal(ctx)
		if err != nil {
			return nil, err
		}
		defer t.close()
		return nil, do(ctx, t, req.Rules)
	}
}

// requestContext returns a context that ends with the request, or when the shim must exit.
func (h *host) requestContext(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(h.ctx, func() { cancel(screen.ErrExited) })
	return ctx, func() { stop(); cancel(nil) }
}

// Deliver delivers a prompt and returns its outcome. If ctx ends, the delivery is cancelled, and Deliver returns the outcome of
// the cancelled delivery. If this process exits, a delivery that has begun continues. Use it only if [State.Delivers] is true.
func (c *Client) Deliver(ctx context.Context, req *DeliverRequest) (runtime.Outcome, error) {
	if ctx.Err() != nil {
		return inject.Unsent(context.Cause(ctx))
	}
	req.Key = rand.Text()
	if end, ok := ctx.Deadline(); ok {
		req.Limit = max(time.Until(end), time.Millisecond)
	}
	asking, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		c.cancelDelivery(asking, req.Key, func() { giveUp(context.Cause(ctx)) })
	})
	var result deliverResult
	err := c.call(asking, http.MethodPost, "/deliver", req, &result)
	giveUp(nil)
	if !stop() {
		<-cancelled
	}
	switch {
	case err == nil && result.Error == "":
		return result.Outcome, nil
	case err == nil && ctx.Err() != nil:
		return result.Outcome, context.Cause(ctx)
	case err == nil:
		return result.Outcome, fmt.Errorf("session %q: %s", c.name, result.Error)
	case errors.Is(err, ErrDisconnected):
		return c.recordedOutcome(req.Name), nil
	case errors.Is(err, ErrNoShim), errors.Is(err, ErrStale):
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: err.Error()}, nil
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}, err
}

const (
	// cancelLimit is how long Deliver waits for the outcome of a cancelled delivery.
	cancelLimit = 5 * time.Second
	// cancelRetry is the pause between requests to cancel: one may arrive before the delivery's own request.
	cancelRetry = 200 * time.Millisecond
)

// cancelDelivery asks the shim to cancel a delivery, again every cancelRetry, until ctx ends. The caller ends ctx when the outcome
// of the delivery arrives. If it has not arrived after cancelLimit, cancelDelivery calls giveUp, which must end ctx.
func (c *Client) cancelDelivery(ctx context.Context, key string, giveUp func()) {
	limit := time.AfterFunc(cancelLimit, giveUp) // ends ctx, also during a request to a shim that does not answer
	defer limit.Stop()
	retry := time.NewTicker(cancelRetry)
	defer retry.Stop()
	for {
		_ = c.do(ctx, http.MethodDelete, "/deliver?key="+url.QueryEscape(key), nil, nil) // the next round tries again
		select {
		case <-retry.C:
		case <-ctx.Done():
			return
		}
	}
}

// CancelName cancels the delivery with the name, also if another client has requested it. A delivery with the name can no longer
// begin afterwards. [Client.Resolve] returns the outcome.
func (c *Client) CancelName(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, "/deliver?name="+url.QueryEscape(name), nil, nil)
}

// recordedOutcome returns the outcome of a delivery that the shim recorded before it exited.
func (c *Client) recordedOutcome(name string) runtime.Outcome {
	unknown := runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the session stopped while the prompt was delivered"}
	if locked, err := c.dir.IsLocked(); name == "" || err != nil || locked || statedir.NotExists(c.dir.Record()) {
		return unknown
	}
	if token, err := c.dir.Token(); err != nil || token != c.token { // the files belong to the next instance
		return unknown
	}
	var records []inject.Record
	if err := statedir.ReadJSON(c.dir.Deliveries(), &records); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unknown
	}
	if out, ok := inject.OutcomeOf(records, name); ok {
		return out
	}
	return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: "the session stopped before the first byte of the prompt was sent"}
}

// Resolve returns the outcome of a delivery that was interrupted, see [inject.ResolveDelivery].
func (c *Client) Resolve(ctx context.Context, req ResolveRequest) (runtime.Outcome, error) {
	var result deliverResult
	err := c.call(ctx, http.MethodPost, "/resolve", req, &result)
	switch {
	case err != nil:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	case result.Error != "":
		return result.Outcome, fmt.Errorf("session %q: %s", c.name, result.Error)
	}
	return result.Outcome, nil
}

// InterruptTurn interrupts the agent's turn with the keys of its program.
func (c *Client) InterruptTurn(ctx context.Context, rules screen.Rules) error {
	return c.call(ctx, http.MethodPost, "/interrupt-turn", rulesRequest{rules}, nil)
}

// ClearInput empties the agent's input box.
func (c *Client) ClearInput(ctx context.Context, rules screen.Rules) error {
	return c.call(ctx, http.MethodPost, "/clear-input", rulesRequest{rules}, nil)
}
