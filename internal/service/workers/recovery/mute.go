package recovery

import (
	"context"

	"gascity/runtime"
)

// Mute is a session whose agent takes prompts by its worker alone: what does not go by that
// is not given to its place, and never was.
type Mute struct{ runtime.Provider }

var (
	_ runtime.Router     = (*Mute)(nil)
	_ runtime.Deliverer  = (*Mute)(nil)
	_ runtime.Settler    = (*Mute)(nil)
	_ runtime.Withdrawer = (*Mute)(nil)
)

// Route keeps the contract of runtime.Router.
func (m *Mute) Route(string) runtime.Provider { return m.Provider }

// Deliver keeps the contract of runtime.Deliverer.
func (m *Mute) Deliver(context.Context, string, runtime.Delivery) (runtime.Outcome, error) {
	return runtime.Outcome{
		State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: `no worker speaks for the agent, and its prompt_mode "worker" allows nothing else`,
	}, nil
}

// Settle keeps the contract of runtime.Settler.
func (m *Mute) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return m.Deliver(ctx, name, d)
}

// Withdraw keeps the contract of runtime.Withdrawer.
func (m *Mute) Withdraw(context.Context, string, runtime.Delivery) (bool, error) { return true, nil }
