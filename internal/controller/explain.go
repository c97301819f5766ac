package controller

import (
	"context"

	"gascity/client"
	"gascity/internal/controller/account"
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
	out.Recent, err = account.Recent(c.opts.Events, v.city.At, t.rec.Session)
	return out, err
}
