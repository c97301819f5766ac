package recovery

import (
	"context"

	"gascity/runtime"
)

// WorkerOnly is the provider of a session whose agent gets prompts only by its worker. It refuses
// every delivery, so nothing is ever sent by the underlying provider.
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
		State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: `no worker of the agent is connected, and prompt_mode "worker" allows no other way`,
	}, nil
}

// Settle implements runtime.Settler.
func (m *WorkerOnly) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return m.Deliver(ctx, name, d)
}

// Withdraw implements runtime.Withdrawer. It always returns true, because nothing was sent.
func (m *WorkerOnly) Withdraw(context.Context, string, runtime.Delivery) (bool, error) {
	return true, nil
}
