package controller

import (
	"context"
	"fmt"

	"gascity/client"
	"gascity/internal/controller/account"
	"gascity/internal/controller/reach"
	"gascity/internal/event"
	"gascity/runtime"
)

// Status returns the city at a glance. It reads the snapshot and costs nothing.
func (c *Controller) Status(context.Context) (client.Status, error) { return c.view.Load().status, nil }

// Plan returns what the controller is about to do, and why.
func (c *Controller) Plan(context.Context) (client.Plan, error) { return c.view.Load().plan, nil }

// Config returns the configuration in force.
func (c *Controller) Config(context.Context) (client.Config, error) { return c.view.Load().config, nil }

// Providers returns what can be selected.
func (c *Controller) Providers(ctx context.Context) ([]client.Provider, error) {
	return c.opts.Providers(ctx)
}

// Events returns what came after an event, and what follows. The channel is
// closed when ctx ends or its reader is too slow.
func (c *Controller) Events(ctx context.Context, after uint64) ([]client.Event, bool, <-chan client.Event, error) { //nolint:revive // the signature is the API's
	s, err := event.Subscribe(ctx, c.opts.Events, after)
	return s.Past, s.Gap, s.Next, err
}

// target finds an agent or a session by its name.
func (c *Controller) target(name string) (*target, error) {
	v := c.view.Load()
	if t := v.targets[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%w: no agent or session is called %q; gc status lists them", client.ErrNotFound, name)
}

// reachable finds a session whose provider can be asked.
func (c *Controller) reachable(name string) (*target, error) {
	t, err := c.target(name)
	if err != nil {
		return nil, err
	}
	if t.provider == nil {
		return nil, fmt.Errorf("%w: cannot reach %s: %s", client.ErrUnavailable, name, t.blind)
	}
	return t, nil
}

// live finds a session that runs, as far as is known.
func (c *Controller) live(name string) (*target, error) {
	t, err := c.reachable(name)
	if err != nil {
		return nil, err
	}
	if !t.running && t.blind == "" {
		return nil, fmt.Errorf("%w: %s does not run: %s", client.ErrRefused, name, t.agent.Reason)
	}
	return t, nil
}

// Session returns everything that is known of one session.
func (c *Controller) Session(_ context.Context, name string) (client.Session, error) {
	t, err := c.target(name)
	if err != nil {
		return client.Session{}, err
	}
	out := client.Session{
		Agent: t.agent, Title: t.seen.Title, LastScreen: account.LastScreen(&t.rec),
		Fingerprints: map[string]string{
			"core": t.rec.Stored.Core, "provision": t.rec.Stored.Provision, "launch": t.rec.Stored.Launch, "live": t.rec.Stored.Live,
		},
	}
	out.Exit = account.LastExit(out.Exit, &t.rec)
	if t.config != nil {
		out.WorkDir, out.Command = t.config.WorkDir, t.config.Command
	}
	if !t.running {
		return out, nil
	}
	out.Processes = reach.Processes(&t.seen)
	out.Meta = reach.Shown(t.provider, t.rec.Session)
	return out, nil
}

// Peek returns the last lines of a session's output, of a dead one too.
func (c *Controller) Peek(_ context.Context, name string, lines int) (client.Output, error) {
	t, err := c.reachable(name)
	if err != nil {
		return client.Output{}, err
	}
	text, err := t.provider.Peek(t.rec.Session, lines)
	if runtime.IsSessionGone(err) && t.rec.Screen != "" {
		return client.Output{Session: t.rec.Session, Text: t.rec.Screen}, nil
	}
	return client.Output{Session: t.rec.Session, Text: text}, reach.Wire(err)
}
