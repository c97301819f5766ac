package recovery

import (
	"context"

	"gascity/runtime"
)

// WorkerOnly is a session whose agent takes prompts by its worker alone: what does not go by that
// is not given to its place, and never was.
type WorkerOnly struct{ runtime.Provider }

var (
	_ runtime.Router     = (*WorkerOnly)(nil)
	_ runtime.Deliverer  = (*WorkerOnly)(nil)
	_ runtime.Settler    = (*WorkerOnly)(nil)
	_ runtime.Withdrawer = (*WorkerOnly)(nil)
)

// Route implements runtime.Router.
func (m *WorkerOnly) Route(string) runtime.Provider { return m.Provider }

// Deliver implements runtime.Deliverer.
func (m *WorkerOnly) Deliver(context.Context, string, runtime.Delivery) (runtime.Outcome, error) {
	return runtime.Outcome{
		State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: `no worker speaks for the agent, and its prompt_mode "worker" allows nothing else`,
	}, nil
}

// Settle implements runtime.Settler.
func (m *WorkerOnly) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return m.Deliver(ctx, name, d)
}

// Withdraw implements runtime.Withdrawer.
func (m *WorkerOnly) Withdraw(context.Context, string, runtime.Delivery) (bool, error) {
	return true, nil
}
