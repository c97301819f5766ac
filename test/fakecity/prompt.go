package fakecity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/client"
)

// order is the order of delivery.
var order = map[string]int{"system": 0, "urgent": 1, "normal": 2}

// quoted is how much of a text a receipt shows.
const quoted = 200

// Nudge implements controlapi.City. A prompt for an agent that is idle is submitted at
// once, for one that is "unknown" unconfirmed, and waits for every other. An
// agent that is suspended or gone takes none.
func (c *City) Nudge(_ context.Context, target string, req client.NudgeRequest) (client.Receipt, error) {
	s, err := c.find(target)
	if err != nil {
		return client.Receipt{}, err
	}
	if req.Text == "die" && c.Dies != nil {
		c.Dies()
	}
	switch {
	case req.Instance != "" && req.Instance != s.Instance:
		return client.Receipt{}, fmt.Errorf("%w: %s runs as %s now, not as %s", client.ErrRefused, s.Name, s.Instance, req.Instance)
	case s.State == client.StateSuspended:
		return client.Receipt{}, fmt.Errorf("%w: %s is suspended; first: gc session resume %s", client.ErrRefused, s.Name, s.Name)
	}
	c.mu.Lock()
	for _, r := range c.receipts {
		if req.Key != "" && r.Key == req.Key && r.Session == s.Session {
			c.mu.Unlock()
			return r.Receipt, nil
		}
	}
	now := time.Now()
	if req.TTL == 0 {
		req.TTL = 24 * time.Hour
	}
	r := &receipt{text: req.Text, Receipt: client.Receipt{
		Literal: req.Literal,
		ID:      fmt.Sprintf("p-%04d", len(c.receipts)+1), Agent: s.Name, Session: s.Session, Instance: s.Instance,
		Priority: cmp.Or(req.Priority, "normal"), Source: req.Source, Key: req.Key, Text: beginning(req.Text), Bytes: len(req.Text),
		Files: req.Files, CreatedAt: now, ExpiresAt: now.Add(req.TTL),
	}}
	r.step(client.ReceiptAccepted, "")
	r.step(client.ReceiptQueued, "")
	c.receipts = append(c.receipts, r)
	c.mu.Unlock()
	c.deliver()
	return c.receipt(r.ID)
}

// receipt is a receipt with the whole text.
type receipt struct {
	client.Receipt
	text string
}

func (r *receipt) step(state, detail string) {
	r.State, r.UpdatedAt = state, time.Now()
	r.Steps = append(slices.Clone(r.Steps), client.ReceiptStep{State: state, At: r.UpdatedAt, Detail: detail})
}

func beginning(text string) string { return strings.ToValidUTF8(text[:min(len(text), quoted)], "") }

// deliver moves every prompt that can move, and reports it.
func (c *City) deliver() {
	c.mu.Lock()
	var moved []client.Receipt
	for _, r := range c.sortedLocked() {
		before := r.State
		if i := c.indexLocked(r.Session); r.State == client.ReceiptQueued && i >= 0 {
			c.tryLocked(r, &c.agents[i])
		}
		if r.State != before {
			moved = append(moved, r.Receipt)
		}
	}
	for i := range c.agents {
		c.agents[i].Queued = 0
	}
	for position, r := range c.sortedLocked() {
		if r.Position = 0; r.State == client.ReceiptQueued {
			r.Position = position + 1
			c.agents[c.indexLocked(r.Session)].Queued++
		}
	}
	c.mu.Unlock()
	for _, r := range moved {
		c.log.Append(client.Event{Time: time.Now(), Kind: "prompt." + r.State, Agent: r.Agent, Session: r.Session, Text: "the prompt " + r.ID, Data: map[string]string{"receipt": r.ID}})
	}
}

func (c *City) tryLocked(r *receipt, s *client.Session) {
	switch {
	case s.State != client.StateRunning:
		r.Reason = s.Name + " is " + s.State
	case s.Activity.State == "waiting":
		r.Reason = s.Name + " waits for a person"
	case s.Activity.State == "busy":
		r.Reason = s.Name + " is in a turn"
	case s.Activity.State == "unknown":
		r.Attempts, r.Reason = 1, "the provider reports no receipt"
		r.step(client.ReceiptInjected, "")
		r.step(client.ReceiptUnconfirmed, r.Reason)
	default:
		r.Attempts, r.Reason, r.Evidence = 1, "", "ledger"
		r.step(client.ReceiptInjected, "")
		r.step(client.ReceiptSubmitted, "ledger")
		c.prompts = append(c.prompts, s.Session+": "+r.text)
	}
}

// sortedLocked returns what waits in the order of delivery.
func (c *City) sortedLocked() []*receipt {
	var open []*receipt
	for _, r := range c.receipts {
		if r.State == client.ReceiptQueued {
			open = append(open, r)
		}
	}
	slices.SortStableFunc(open, func(a, b *receipt) int { return order[a.Priority] - order[b.Priority] })
	return open
}

func (c *City) receipt(id string) (client.Receipt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.receipts {
		if r.ID == id {
			return r.Receipt, nil
		}
	}
	return client.Receipt{}, fmt.Errorf("%w: no receipt %q", client.ErrNotFound, id)
}

// Queue implements controlapi.City.
func (c *City) Queue(_ context.Context, target string, which client.Which) ([]client.Receipt, error) {
	if target != "" {
		if _, err := c.find(target); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []client.Receipt
	add := func(r *receipt) {
		if target == "" || r.Agent == target || r.Session == target {
			bare := r.Receipt
			bare.Steps = nil
			list = append(list, bare)
		}
	}
	for _, r := range c.sortedLocked() {
		add(r)
	}
	for _, r := range c.receipts {
		if which == client.WithEnded && r.State != client.ReceiptQueued {
			add(r)
		}
	}
	return list, nil
}

// Receipt implements controlapi.City.
func (c *City) Receipt(ctx context.Context, id, wait string) (client.Receipt, error) {
	var r client.Receipt
	err := c.until(ctx, func() (bool, error) {
		var err error
		r, err = c.receipt(id)
		return wait == "" || r.Reached(wait), err
	})
	return r, err
}

// until looks at every change whether ready holds.
func (c *City) until(ctx context.Context, ready func() (bool, error)) error {
	for {
		_, _, changed := c.log.after(0)
		if done, err := ready(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// EditPrompt implements controlapi.City.
func (c *City) EditPrompt(_ context.Context, id string, req client.EditRequest) (client.Receipt, error) {
	return c.change(id, func(r *receipt) {
		if req.Text != nil {
			r.text, r.Text, r.Bytes = *req.Text, beginning(*req.Text), len(*req.Text)
		}
		if req.Priority != nil {
			r.Priority = *req.Priority
		}
		if req.TTL != nil {
			r.ExpiresAt = time.Now().Add(*req.TTL)
		}
	})
}

// CancelPrompt implements controlapi.City.
func (c *City) CancelPrompt(_ context.Context, id string) (client.Receipt, error) {
	return c.change(id, func(r *receipt) { r.step(client.ReceiptCancelled, "") })
}

// change changes a prompt that waits.
func (c *City) change(id string, how func(*receipt)) (client.Receipt, error) {
	c.mu.Lock()
	i := slices.IndexFunc(c.receipts, func(r *receipt) bool { return r.ID == id })
	if i < 0 {
		c.mu.Unlock()
		return client.Receipt{}, fmt.Errorf("%w: no receipt %q", client.ErrNotFound, id)
	}
	r := c.receipts[i]
	if r.State != client.ReceiptQueued {
		c.mu.Unlock()
		return client.Receipt{}, fmt.Errorf("%w: the prompt %s is %s, it does not wait any more", client.ErrRefused, id, r.State)
	}
	how(r)
	ended := r.State != client.ReceiptQueued
	agent := client.Agent{Name: r.Agent, Session: r.Session}
	c.mu.Unlock()
	c.deliver()
	if ended {
		c.Emit("prompt.cancelled", agent, "the prompt "+id)
	}
	return c.receipt(id)
}

// RetryPrompt implements controlapi.City.
func (c *City) RetryPrompt(ctx context.Context, id string, req client.RetryRequest) (client.Receipt, error) {
	c.mu.Lock()
	i := slices.IndexFunc(c.receipts, func(r *receipt) bool { return r.ID == id })
	if i < 0 {
		c.mu.Unlock()
		return client.Receipt{}, fmt.Errorf("%w: no receipt %q", client.ErrNotFound, id)
	}
	old := *c.receipts[i]
	c.mu.Unlock()
	switch {
	case !old.Ended():
		return client.Receipt{}, fmt.Errorf("%w: the prompt %s is %s and needs no retry", client.ErrRefused, id, old.State)
	case !req.Force && (old.State == client.ReceiptUnconfirmed || old.State == client.ReceiptSubmitted):
		return client.Receipt{}, fmt.Errorf("%w: %s may have got the prompt %s, a retry may arrive twice; then: gc queue retry %s --force", client.ErrRefused, old.Agent, id, id)
	}
	again, err := c.Nudge(ctx, old.Session, client.NudgeRequest{Text: old.text, Priority: old.Priority, Key: req.Key, Source: req.Source})
	if err != nil {
		return again, err
	}
	c.mu.Lock()
	for _, r := range c.receipts {
		if r.ID == again.ID {
			r.RetryOf = id
		}
	}
	c.mu.Unlock()
	return c.receipt(again.ID)
}
