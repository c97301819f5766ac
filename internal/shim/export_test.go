package shim

import (
	"context"
	"time"
)

// Start calls [Fleet.Claim] and [Claim.Start].
func (f *Fleet) Start(ctx context.Context, spec Spec) (*Client, error) {
	claim, _, err := f.Claim(ctx, spec.Name)
	if err != nil {
		return nil, err
	}
	return claim.Start(ctx, spec)
}

// Relaunch is StartSuccessor for the same instance.
func (c *Client) Relaunch(ctx context.Context, argv []string, grace time.Duration) error {
	return c.StartSuccessor(ctx, argv, grace, Successor{})
}
