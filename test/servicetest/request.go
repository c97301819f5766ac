package servicetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Interrupt records the request.
func (c *City) Interrupt(_ context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, c.request("interrupt %s %s", name, req.Instance)
}

// Withhold records the request and stops the session.
func (c *City) Withhold(_ context.Context, name, reason string, until time.Time) error {
	if err := c.request("withhold %s", name); err != nil {
		return err
	}
	c.Edit(name, func(v *session.Snapshot) {
		v.Hold, v.Running, v.Activity = session.Hold{Kind: session.HoldBudget, Reason: reason, Until: until}, false, session.Activity{}
	})
	return nil
}

// Allow records the request and starts the session.
func (c *City) Allow(_ context.Context, name, _ string) error {
	if err := c.request("allow %s", name); err != nil {
		return err
	}
	c.Edit(name, func(v *session.Snapshot) {
		v.Hold, v.Running, v.Activity = session.Hold{}, true, session.Activity{State: runtime.ActivityIdle, Since: time.Now()}
	})
	return nil
}

// Refuse makes every later request fail with err. A nil err makes them succeed.
func (c *City) Refuse(err error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.fail = err
}

// Requests returns the requests that succeeded.
func (c *City) Requests() []string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return slices.Clone(c.requests)
}

// request records a request of the service, unless Refuse makes it fail.
func (c *City) request(format string, args ...any) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.requests = append(c.requests, fmt.Sprintf(format, args...))
	return nil
}
