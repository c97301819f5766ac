package workers

import (
	"context"

	"gascity/runtime"
)

// workerOnly is the provider of a session whose agent gets prompts only by its worker. It refuses
// every delivery, so nothing is ever sent by the underlying provider.
type workerOnly struct{ runtime.Provider }

var (
	_ runtime.Router     = (*workerOnly)(nil)
	_ runtime.Deliverer  = (*workerOnly)(nil)
	_ runtime.Settler    = (*workerOnly)(nil)
	_ runtime.Withdrawer = (*workerOnly)(nil)
)

// Route returns the underlying provider, for everything but the delivery of prompts. It implements
// runtime.Router.
func (m *workerOnly) Route(string) runtime.Provider { return m.Provider }

// Deliver refuses every prompt, because no worker is connected and no other way is allowed. It
// implements runtime.Deliverer.
func (m *workerOnly) Deliver(context.Context, string, runtime.Delivery) (runtime.Outcome, error) {
	return refused(runtime.RefusedUnready, `no worker of the agent is connected, and prompt_mode "worker" allows no other way`), nil
}

// Settle returns the same refusal as Deliver, which proves that the prompt was not sent. It
// implements runtime.Settler.
func (m *workerOnly) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return m.Deliver(ctx, name, d)
}

// Withdraw always returns true, because Deliver sends nothing. It implements runtime.Withdrawer.
func (m *workerOnly) Withdraw(context.Context, string, runtime.Delivery) (bool, error) {
	return true, nil
}
