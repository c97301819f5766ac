package servicetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"gascity/client"
)

// Prompts is a queue of prompts that no agent gets. It accepts one prompt for each key, as the engine
// of prompts does. Its zero value is empty.
type Prompts struct {
	// Before is called before a prompt is accepted or refused, and may block. Nil: nothing is called.
	Before func(target string, req client.NudgeRequest)

	mu       sync.Mutex
	accepted []Prompt
	fail     error
}

// Prompt is an accepted prompt.
type Prompt struct {
	Target string
	client.NudgeRequest
	Receipt client.Receipt
}

// Nudge accepts a prompt. The first one gets the receipt "r-1".
func (p *Prompts) Nudge(_ context.Context, target string, req client.NudgeRequest) (client.Receipt, error) {
	if p.Before != nil {
		p.Before(target, req)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return client.Receipt{}, p.fail
	}
	for _, known := range p.accepted {
		if req.Key != "" && known.Key == req.Key {
			return known.Receipt, nil
		}
	}
	n := len(p.accepted) + 1
	r := client.Receipt{ID: fmt.Sprint("r-", n), State: client.ReceiptQueued, Position: n}
	p.accepted = append(p.accepted, Prompt{target, req, r})
	return r, nil
}

// Refuse makes every later prompt fail with err. A nil err makes them succeed.
func (p *Prompts) Refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

// Accepted returns the accepted prompts.
func (p *Prompts) Accepted() []Prompt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.accepted)
}
