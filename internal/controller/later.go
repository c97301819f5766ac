package controller

import (
	"context"
	"fmt"

	"gascity/client"
	"gascity/internal/session"
)

var errLater = fmt.Errorf("%w: not built yet", client.ErrUnsupported)

// View returns what is known of a session, by its name or its agent's.
func (c *Controller) View(name string) (session.View, error) { return session.View{}, errLater }

// Views returns what is known of every session.
func (c *Controller) Views() []session.View { return nil }

// WakeFor starts a sleeping session because there is something for it.
func (c *Controller) WakeFor(ctx context.Context, name, reason string) error { return errLater }

func (c *Controller) Explain(ctx context.Context, name string) (client.Explanation, error) {
	return client.Explanation{}, errLater
}

func (c *Controller) Wake(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errLater
}

func (c *Controller) Sleep(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errLater
}

func (c *Controller) Suspend(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errLater
}

func (c *Controller) Resume(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errLater
}

func (c *Controller) Reset(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errLater
}

func (c *Controller) Drain(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errLater
}

func (c *Controller) DrainState(ctx context.Context, name string) (client.Drain, error) {
	return client.Drain{}, errLater
}

func (c *Controller) DrainAck(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errLater
}

func (c *Controller) RequestRestart(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errLater
}
