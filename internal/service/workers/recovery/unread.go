package recovery

import (
	"context"
	"slices"
	"time"

	"gascity/internal/domain/workerrun"
	"gascity/runtime"
)

// Returning is the reason why a prompt waits for a worker that has connected before, perhaps to an
// earlier controller, and is not connected now.
const Returning = "its worker was connected and is not connected now; gc waits for it"

// UnknownWorker is the provider of a session whose memory the city has not read yet. This state is
// short, after a restart of the controller. It reads the memory for each call: prompts for a worker
// wait, and everything else uses the underlying provider.
type UnknownWorker struct{ runtime.Provider }

var (
	_ runtime.Router     = (*UnknownWorker)(nil)
	_ runtime.Sensor     = (*UnknownWorker)(nil)
	_ runtime.Deliverer  = (*UnknownWorker)(nil)
	_ runtime.Settler    = (*UnknownWorker)(nil)
	_ runtime.Withdrawer = (*UnknownWorker)(nil)
)

// Route implements runtime.Router.
func (u *UnknownWorker) Route(string) runtime.Provider { return u.Provider }

// Sense implements runtime.Sensor. A session whose context is being compacted counts as busy.
func (u *UnknownWorker) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	reading, err := runtime.Sense(ctx, u.Provider, name)
	if err != nil || reading.Instance == "" {
		return reading, err
	}
	m, err := Read(u.Provider, name, workerrun.ID(reading.Instance))
	if err == nil && m.Lock.IsActive() && !m.Lock.Leaves {
		reading.Evidence = append(slices.Clone(reading.Evidence), Compacting(m.Lock.Since, reading.At))
	}
	return reading, nil
}

// Compacting returns the evidence that the agent is busy because its context is being compacted.
func Compacting(since, at time.Time) runtime.Evidence {
	return runtime.Evidence{Source: runtime.SourceWorker, Activity: runtime.ActivityBusy, Since: since, At: at, Detail: "its context is being compacted"}
}

// Deliver implements runtime.Deliverer.
func (u *UnknownWorker) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if d.Instance != "" {
		if m, err := Read(u.Provider, name, workerrun.ID(d.Instance)); err == nil && m.Streamed {
			return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: Returning}, nil
		}
	}
	return runtime.Deliver(ctx, u.Provider, name, d)
}

// Settle implements runtime.Settler.
func (u *UnknownWorker) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if d.Instance != "" {
		m, err := Read(u.Provider, name, workerrun.ID(d.Instance))
		if err != nil || Newest(m.Sent, d.ID) != "" {
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedUnready, Detail: Returning}, nil //nolint:nilerr // the caller asks again later
		}
	}
	return runtime.Settle(ctx, u.Provider, name, d)
}

// Withdraw implements runtime.Withdrawer.
func (u *UnknownWorker) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	return Withdrawn(u.Settle(ctx, name, d))
}

// PendingWorker is the provider of a session whose worker, if it has one, has not reported yet. A
// prompt that the underlying provider cannot deliver is refused and tried again, because a worker
// may connect.
type PendingWorker struct{ runtime.Provider }

var (
	_ runtime.Router    = (*PendingWorker)(nil)
	_ runtime.Deliverer = (*PendingWorker)(nil)
)

// Route implements runtime.Router.
func (u *PendingWorker) Route(string) runtime.Provider { return u.Provider }

// Deliver implements runtime.Deliverer.
func (u *PendingWorker) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	out, err := runtime.Deliver(ctx, u.Provider, name, d)
	if err == nil && out.State == runtime.OutcomeUnsupported {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: "it waits for a worker to connect, until 30s after the agent's start; without a worker: " + out.Detail}, nil
	}
	return out, err
}

// Withdrawn reports whether the outcome of a delivery is that the prompt was withdrawn. It returns
// err unchanged.
func Withdrawn(out runtime.Outcome, err error) (bool, error) {
	return err == nil && out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedWithdrawn, err
}
