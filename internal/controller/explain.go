package controller

import (
	"context"
	"time"

	"gascity/client"
	"gascity/internal/controller/account"
)

const (
	recentEvents = 20
	recentSince  = 7 * 24 * time.Hour
)

// Explain returns what is known of one agent, what is intended and why. What
// waits for it, questions and prompts, is added by those who keep it.
func (c *Controller) Explain(_ context.Context, name string) (client.Explanation, error) {
	t, err := c.target(name)
	if err != nil {
		return client.Explanation{}, err
	}
	v := c.view.Load()
	out := account.Explain(&v.city, &account.Case{
		Agent: t.agent, Action: t.action, Record: t.rec, Seen: t.seen, Judged: t.judged, Blind: t.blind, Durable: t.durable,
	})
	id, err := c.opts.Events.Since(v.city.At.Add(-recentSince))
	if err != nil {
		return out, err
	}
	events, _, err := c.opts.Events.After(id)
	out.Recent = account.Last(events, t.rec.Session, recentEvents)
	return out, err
}
