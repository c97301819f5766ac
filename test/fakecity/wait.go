package fakecity

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gascity/client"
)

// Awaited returns a channel that is closed when the next condition is waited for.
func (c *City) Awaited() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaited = make(chan struct{})
	return c.awaited
}

// signalAwait notifies those that wait for it, and scripts by a file in the city
// directory.
func (c *City) signalAwait() {
	_ = os.WriteFile(filepath.Join(c.Root, "awaited"), nil, 0o600) // who looks for it fails then
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.awaited != nil {
		close(c.awaited)
		c.awaited = nil
	}
}

// Await implements controlapi.City. Of commands it knows "true", and every other one
// never succeeds.
func (c *City) Await(parent context.Context, req client.WaitRequest) (client.Wait, error) {
	ctx := parent
	if req.Timeout > 0 {
		over := fmt.Errorf("%w: waited %v until %s is %s", client.ErrTimeout, req.Timeout, req.Target, req.For)
		bounded, cancel := context.WithTimeoutCause(parent, req.Timeout, over)
		defer cancel()
		ctx = bounded
	}
	w, err := c.await(ctx, req)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return w, err
}

func (c *City) await(ctx context.Context, req client.WaitRequest) (client.Wait, error) {
	c.signalAwait()
	w := client.Wait{Target: req.Target, For: req.For, Arg: req.Arg, State: client.WaitOpen, CreatedAt: time.Now()}
	if req.For == client.WaitTime {
		at, err := time.Parse(time.RFC3339Nano, req.Arg)
		if err != nil {
			return w, fmt.Errorf("%w: %w", client.ErrInvalid, err)
		}
		select {
		case <-ctx.Done():
			return w, ctx.Err()
		case <-time.After(time.Until(at)):
		}
	}
	err := c.until(ctx, func() (bool, error) {
		var err error
		w.State, w.Reason, err = c.checkCondition(req)
		return w.State != client.WaitOpen, err
	})
	w.EndedAt = time.Now()
	return w, err
}

// checkCondition judges a condition.
func (c *City) checkCondition(req client.WaitRequest) (state, reason string, err error) {
	is := func(met bool) (string, string, error) {
		if met {
			return client.WaitFulfilled, "", nil
		}
		return client.WaitOpen, "", nil
	}
	switch req.For {
	case client.WaitTime:
		return is(true)
	case client.WaitCommand:
		return is(req.Arg == "true")
	case client.WaitReceipt:
		r, err := c.receipt(req.Arg)
		if err != nil {
			return "", "", err
		}
		return is(r.Ended())
	case client.WaitPending:
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.IndexFunc(c.pending, func(p client.Pending) bool { return p.ID == req.Arg })
		if i < 0 {
			return "", "", fmt.Errorf("%w: no pending question %q", client.ErrNotFound, req.Arg)
		}
		return is(c.pending[i].State != client.PendingOpen)
	}
	return c.checkAgentCondition(req, is)
}

func (c *City) checkAgentCondition(req client.WaitRequest, is func(bool) (string, string, error)) (state, reason string, err error) {
	s, err := c.find(req.Target)
	if err != nil {
		return "", "", err
	}
	running := s.State == client.StateRunning
	switch {
	case req.For == client.WaitStopped:
		return is(!running && s.State != client.StateStarting)
	case s.State == client.StateQuarantined:
		return client.WaitFailed, s.Name + " is quarantined: " + s.Reason, nil
	case req.For == client.WaitRunning:
		return is(running)
	case req.For == client.WaitIdle:
		return is(running && (s.Activity.State == "idle" || s.Activity.State == "ready"))
	}
	return is(running && s.Activity.State == req.For)
}

// AddWait implements controlapi.City. A registered wait stays open.
func (c *City) AddWait(_ context.Context, req client.WaitRequest) (client.Wait, error) {
	for _, name := range []string{req.Owner, req.Target} {
		if _, err := c.find(name); err != nil && name != "" {
			return client.Wait{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if req.Timeout == 0 {
		req.Timeout = 24 * time.Hour
	}
	w := client.Wait{
		ID: fmt.Sprintf("w-%04d", len(c.waits)+1), Target: req.Target, For: req.For, Arg: req.Arg, Owner: req.Owner, Text: req.Text,
		State: client.WaitOpen, CreatedAt: time.Now(), Deadline: time.Now().Add(req.Timeout),
	}
	c.waits = append(c.waits, w)
	return w, nil
}

// Waits implements controlapi.City.
func (c *City) Waits(_ context.Context, which client.Which) ([]client.Wait, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.waits), func(w client.Wait) bool {
		return which != client.WithEnded && w.State != client.WaitOpen
	}), nil
}

// CancelWait implements controlapi.City.
func (c *City) CancelWait(_ context.Context, id string) (client.Wait, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.waits, func(w client.Wait) bool { return w.ID == id })
	switch {
	case i < 0:
		return client.Wait{}, fmt.Errorf("%w: no wait %q", client.ErrNotFound, id)
	case c.waits[i].State != client.WaitOpen:
		return client.Wait{}, fmt.Errorf("%w: the wait %s is %s already", client.ErrRefused, id, c.waits[i].State)
	}
	c.waits[i].State, c.waits[i].EndedAt = client.WaitCancelled, time.Now()
	return c.waits[i], nil
}
