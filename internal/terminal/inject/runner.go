package inject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Runner runs deliveries into one terminal, or into the input of a program without one, for clients that may exit at any time. A
// delivery that has begun does not end with its client. Its outcome is stored by its name, and another client can ask for it. A
// Runner is safe for concurrent use.
type Runner struct {
	// Acquire waits for the exclusive right to deliver prompts. The lease calls begin before it records a delivery, and
	// returns its error from Begin. release ends the right.
	Acquire func(ctx context.Context, begin func(context.Context) error) (l Lease, release func(), err error)
	// Pipe: the program has no terminal. Prompts are then delivered by [DeliverInput] and resolved by [ResolveInput].
	Pipe bool
	// Save stores the named deliveries that have begun, for the time after this process was killed; see [OutcomeOf].
	Save func([]Record) error

	mu      sync.Mutex          // guards all below
	named   []*running          // the deliveries with a name, the oldest first
	running map[string]*running // the deliveries that run, by the key of their request
	closed  bool                // Save is not called any more
}

// Request requests one delivery.
type Request struct {
	// Key identifies the request for [Runner.Cancel].
	Key string
	// Name names the delivery: a Runner never begins two deliveries with one name. A second request gets the outcome of the
	// first. If the delivery ended before its first byte, the name can be used again. An empty name names no delivery.
	Name string
	ID   string // the ID in the journal, see DeliveryID

	Prompt Prompt
	Rules  screen.Rules
}

// Record is a named delivery that has begun.
type Record struct {
	Name    string           `json:"name"`
	Outcome *runtime.Outcome `json:"outcome,omitempty"` // nil: unknown
}

// OutcomeOf returns the outcome of a named delivery by what a killed process has saved. ok is false if it had not begun.
func OutcomeOf(records []Record, name string) (out runtime.Outcome, ok bool) {
	i := slices.IndexFunc(records, func(r Record) bool { return r.Name == name })
	switch {
	case i < 0:
		return runtime.Outcome{}, false
	case records[i].Outcome != nil:
		return *records[i].Outcome, true
	}
	return unconfirmed("the session stopped while the prompt was delivered"), true
}

// running is a delivery that a client has requested.
type running struct {
	name   string
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when out and err are set

	// Guarded by the Runner's mu until done is closed.
	begun  bool // bytes may have been sent
	closed bool // a client has asked for the outcome: if it has not begun, it never begins, and its name is not used again
	out    runtime.Outcome
	err    error
}

// ended reports whether the delivery has ended. It does not wait.
func (d *running) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

const (
	// ResolveWait is how long [Runner.Resolve] waits for a delivery that still runs. It is short, so that a caller with a
	// time limit gets the answer that it still runs.
	ResolveWait = 2 * time.Second
	// maxNames is the largest number of stored names. A controller has at most one delivery for each session whose outcome
	// it has not stored, so an outcome is not dropped before it is stored.
	maxNames = 64
)

var (
	errCancelled  = errors.New("the delivery was cancelled")
	errClientGone = errors.New("its sender exited before the first byte")
	errAsked      = errors.New("its sender asked for the outcome before the delivery had begun, so it was cancelled")
	errStillRuns  = errors.New("the delivery is still in progress")
	errClosed     = errors.New("the session is being stopped")
)

// Deliver delivers a prompt and returns its outcome, as the function [Deliver] does. The delivery is cancelled when ctx ends.
// When client ends, only a delivery that has not begun is cancelled.
func (r *Runner) Deliver(ctx, client context.Context, req *Request) (runtime.Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d, first := r.add(&running{name: req.Name, cancel: cancel, done: make(chan struct{})}, req.Key)
	if first {
		stop := context.AfterFunc(client, func() { r.clientGone(d) })
		defer stop()
		r.run(ctx, d, req)
		return d.out, d.err
	}
	select {
	case <-d.done:
		return d.out, d.err
	case <-client.Done():
		return unconfirmed("the caller stopped waiting for the delivery that an earlier request with the same name had begun"), context.Cause(client)
	}
}

// add adds a delivery and returns it. If there is one with its name, add returns that one, and first is false.
func (r *Runner) add(d *running, key string) (_ *running, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.findLocked(d.name); known != nil {
		return known, false
	}
	r.addNameLocked(d)
	if r.running == nil {
		r.running = map[string]*running{}
	}
	r.running[key] = d
	return d, true
}

// findLocked returns the delivery with the name; nil if there is none.
func (r *Runner) findLocked(name string) *running {
	if i := slices.IndexFunc(r.named, func(d *running) bool { return d.name == name }); i >= 0 {
		return r.named[i]
	}
	return nil
}

// addNameLocked stores a delivery, if it has a name, and drops the oldest ones that have ended.
func (r *Runner) addNameLocked(d *running) {
	if d.name == "" {
		return
	}
	surplus := len(r.named) + 1 - maxNames
	r.named = slices.DeleteFunc(r.named, func(old *running) bool {
		drop := surplus > 0 && old.ended()
		if drop {
			surplus--
		}
		return drop
	})
	r.named = append(r.named, d)
}

// clientGone cancels a delivery that has not begun.
func (r *Runner) clientGone(d *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !d.begun {
		d.cancel(errClientGone)
	}
}

// run delivers a prompt and stores the outcome.
func (r *Runner) run(ctx context.Context, d *running, req *Request) {
	l, release, err := r.Acquire(ctx, func(ctx context.Context) error { return r.begin(ctx, d) })
	if err != nil {
		out, err := Unsent(err)
		r.end(d, req.Key, out, err)
		return
	}
	defer release()
	var out runtime.Outcome
	if r.Pipe {
		out, err = DeliverInput(ctx, l, req.ID, []byte(req.Prompt.Text))
	} else {
		out, err = Deliver(ctx, l, req.ID, req.Prompt, req.Rules)
	}
	r.end(d, req.Key, out, err)
}

// begin saves the name of a delivery before its first byte is sent.
func (r *Runner) begin(ctx context.Context, d *running) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d.begun = true
	err := r.saveLocked(d)
	d.begun = err == nil
	return err
}

// end stores the outcome of a delivery. A name that has not begun is dropped, so that it can be used again.
func (r *Runner) end(d *running, key string, out runtime.Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.out, d.err = out, err
	close(d.done)
	delete(r.running, key)
	switch {
	case d.begun:
		_ = r.saveLocked(d) // without it the outcome is unconfirmed after this process was killed
	case !d.closed:
		r.named = slices.DeleteFunc(r.named, func(named *running) bool { return named == d })
	}
}

// SaveAgain saves the named deliveries that have begun, after what was saved was removed. It saves nothing if there are none.
func (r *Runner) SaveAgain() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.named {
		if d.begun {
			return r.saveLocked(d)
		}
	}
	return nil
}

// Close makes the Runner save nothing more, for a caller that removes what was saved. No delivery can begin any more.
func (r *Runner) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// saveLocked saves the deliveries that have begun, if d has a name.
func (r *Runner) saveLocked(d *running) error {
	switch {
	case r.closed:
		return errClosed
	case d.name == "":
		return nil
	}
	var records []Record
	for _, known := range r.named {
		if !known.begun {
			continue
		}
		record := Record{Name: known.name}
		if known.ended() {
			record.Outcome = &known.out
		}
		records = append(records, record)
	}
	if err := r.Save(records); err != nil {
		return fmt.Errorf("cannot record the delivery: %w", err)
	}
	return nil
}

// Cancel cancels the delivery of a request.
func (r *Runner) Cancel(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.running[key]; d != nil {
		d.cancel(errCancelled)
	}
}

// CancelName cancels the delivery with the name, also of another client. If none has begun, none can begin any more.
func (r *Runner) CancelName(name string) {
	if d := r.closeName(name); !d.ended() {
		d.cancel(errCancelled)
	}
}

// Resolve returns the outcome of a delivery, as [ResolveDelivery] does. It waits up to [ResolveWait] for a delivery that still
// runs. If no delivery with the name has begun, none can begin any more.
func (r *Runner) Resolve(ctx context.Context, name, id string, rules screen.Rules) (runtime.Outcome, error) {
	wait, cancel := context.WithTimeoutCause(ctx, ResolveWait, errStillRuns)
	defer cancel()
	if name != "" {
		d := r.closeName(name)
		select {
		case <-d.done:
		case <-wait.Done():
		}
		if d.ended() && d.out.State == runtime.OutcomeSubmitted {
			return d.out, nil
		}
	}
	l, release, err := r.Acquire(wait, nil)
	switch {
	case errors.Is(err, errStillRuns):
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedBusy, Detail: err.Error()}, nil
	case err != nil:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	defer release()
	if r.Pipe {
		return ResolveInput(ctx, l, id)
	}
	return ResolveDelivery(ctx, l, id, rules)
}

// closeName returns the delivery with the name if it has begun, and nil otherwise. If it has not begun, closeName makes
// sure that no delivery with this name can begin any more: one that waits to begin is cancelled.
func (r *Runner) closeName(name string) *running {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.findLocked(name); known != nil {
		known.closed = true
		if !known.begun && !known.ended() {
			known.cancel(errAsked)
		}
		return known
	}
	d := &running{name: name, done: make(chan struct{}), closed: true, out: NeverSent(errAsked.Error())}
	close(d.done)
	r.addNameLocked(d)
	return d
}
