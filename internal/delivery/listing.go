package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/prompt"
)

// Queue lists the prompts that are on their way, those of one target if it is
// not empty, by session and in the order of delivery; with client.WithEnded also
// the recent others, newest first.
func (e *Engine) Queue(ctx context.Context, target string, which client.Which) ([]client.Receipt, error) {
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	name := ""
	if target != "" {
		v, err := e.opts.City.View(target)
		if err != nil {
			return nil, err
		}
		name = v.Session
	}
	out, taken := e.listed(name)
	if which != client.WithEnded {
		return out, nil
	}
	ended, err := e.opts.Store.EndedReceipts(ctx, name, recent)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read ended receipts: %w", client.ErrUnavailable, err)
	}
	ended = append(taken, ended...)
	slices.SortStableFunc(ended, func(a, b prompt.Receipt) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	for _, r := range ended {
		listed := wire(&r)
		listed.Steps = nil
		out = append(out, listed)
	}
	return out, nil
}

// listed returns the prompts on their way, and those that are submitted.
func (e *Engine) listed(name string) (queue []client.Receipt, taken []prompt.Receipt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var boxes []*box
	for _, b := range e.boxes {
		if name == "" || b.session == name {
			boxes = append(boxes, b)
		}
	}
	slices.SortFunc(boxes, func(a, b *box) int { return strings.Compare(a.session, b.session) })
	queue = []client.Receipt{}
	for _, b := range boxes {
		place := 0
		for _, r := range prompt.Queue(b.listLocked()) {
			listed := wire(r)
			listed.Steps = nil
			if r.Waits() {
				place++
				listed.Position = place
			}
			if place == 1 && listed.Reason == "" {
				listed.Reason = b.why
			}
			queue = append(queue, listed)
		}
		for _, r := range b.receipts {
			if r.State == prompt.Submitted {
				taken = append(taken, *r)
			}
		}
	}
	return queue, taken
}

// Receipt returns a receipt; with wait, "submitted" or "consumed", when it has
// come so far or ended. If ctx ends first it is client.ErrTimeout, with the
// receipt as it is then.
func (e *Engine) Receipt(ctx context.Context, id, wait string) (client.Receipt, error) {
	if err := checkWait(wait); err != nil {
		return client.Receipt{}, err
	}
	if err := e.ready(ctx); err != nil {
		return client.Receipt{}, err
	}
	for {
		r, changed, err := e.read(ctx, id)
		if err != nil || wait == "" || r.Reached(wait) {
			return r, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, fmt.Errorf("%w: the prompt %s is %s", client.ErrTimeout, id, r.State)
		case <-e.done:
			return r, fmt.Errorf("%w: the controller ends; the prompt %s is %s and kept", client.ErrUnavailable, id, r.State)
		}
	}
}

// read returns a receipt; changed is closed when it is another, nil if it is
// final.
func (e *Engine) read(ctx context.Context, id string) (r client.Receipt, changed <-chan struct{}, err error) {
	e.mu.Lock()
	b := e.index[id]
	if b != nil {
		r, changed = b.wireLocked(*b.receipts[id]), b.changed
	}
	e.mu.Unlock()
	if b != nil {
		return r, changed, nil
	}
	kept, err := e.opts.Store.Receipt(ctx, id)
	switch {
	case errors.Is(err, prompt.ErrUnknown):
		return r, nil, fmt.Errorf("%w: no prompt has the receipt %q; gc queue list --all shows those that are kept", client.ErrNotFound, id)
	case err != nil:
		return r, nil, fmt.Errorf("%w: cannot read the receipt %s: %w", client.ErrUnavailable, id, err)
	}
	return wire(&kept), nil, nil
}
