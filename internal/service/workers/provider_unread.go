package workers

import (
	"context"
	"slices"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// WorkerReturning is the reason why a prompt waits for a worker that has connected before, perhaps
// to an earlier controller, and is not connected now.
const WorkerReturning = "its worker was connected and is not connected now; gc waits for it"

// unknownWorker is the provider of a session whose memory the city has not read yet. This state is
// short, after a restart of the controller. It reads the memory for each call: prompts for a worker
// wait, and everything else uses the underlying provider.
type unknownWorker struct{ runtime.Provider }

var (
	_ runtime.Router     = (*unknownWorker)(nil)
	_ runtime.Sensor     = (*unknownWorker)(nil)
	_ runtime.Deliverer  = (*unknownWorker)(nil)
	_ runtime.Settler    = (*unknownWorker)(nil)
	_ runtime.Withdrawer = (*unknownWorker)(nil)
)

// Route returns the underlying provider, for everything that this type does not do itself. It implements
// runtime.Router.
func (u *unknownWorker) Route(string) runtime.Provider { return u.Provider }

// Sense reads the session by the underlying provider. If the stored memory of the run says that its
// context is being compacted, the agent counts as busy. It implements runtime.Sensor.
func (u *unknownWorker) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	reading, err := runtime.Sense(ctx, u.Provider, name)
	if err != nil || reading.Instance == "" {
		return reading, err
	}
	m, err := readRunMemory(u.Provider, name, session.RunID(reading.Instance))
	if err == nil && m.Lock.IsActive() && !m.Lock.Leaves {
		reading.Evidence = append(slices.Clone(reading.Evidence), newCompactingEvidence(m.Lock.Since, reading.At))
	}
	return reading, nil
}

// newCompactingEvidence returns the evidence that the agent is busy because its context is being
// compacted.
func newCompactingEvidence(since, at time.Time) runtime.Evidence {
	return runtime.Evidence{Source: runtime.SourceWorker, Activity: runtime.ActivityBusy, Since: since, At: at, Detail: "its context is being compacted"}
}

// Deliver refuses the prompt if the run's worker has had a stream, according to the stored memory: gc waits until that worker
// connects again. Otherwise it delivers the prompt by the underlying provider. It implements runtime.Deliverer.
func (u *unknownWorker) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if d.Instance != "" {
		if m, err := readRunMemory(u.Provider, name, session.RunID(d.Instance)); err == nil && m.Streamed {
			return refused(runtime.RefusedUnready, WorkerReturning), nil
		}
	}
	return runtime.Deliver(ctx, u.Provider, name, d)
}

// Settle finds out whether the agent got a prompt whose delivery was cut off. If the prompt was sent to the worker, the outcome
// stays unconfirmed until the worker connects again; otherwise the underlying provider decides. It implements runtime.Settler.
func (u *unknownWorker) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if d.Instance != "" {
		m, err := readRunMemory(u.Provider, name, session.RunID(d.Instance))
		if err != nil || findLastAttempt(m.Sent, d.ID) != "" {
			return unconfirmed(runtime.RefusedUnready, WorkerReturning), nil //nolint:nilerr // the caller asks again later
		}
	}
	return runtime.Settle(ctx, u.Provider, name, d)
}

// Withdraw returns true if the agent provably does not have the prompt. It implements runtime.Withdrawer.
func (u *unknownWorker) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	return wasWithdrawn(u.Settle(ctx, name, d))
}

// pendingWorker is the provider of a session whose worker, if it has one, has not reported yet. A
// prompt that the underlying provider cannot deliver is refused and tried again, because a worker
// may connect.
type pendingWorker struct{ runtime.Provider }

var (
	_ runtime.Router    = (*pendingWorker)(nil)
	_ runtime.Deliverer = (*pendingWorker)(nil)
)

// Route returns the underlying provider, for everything that this type does not do itself. It implements
// runtime.Router.
func (u *pendingWorker) Route(string) runtime.Provider { return u.Provider }

// Deliver delivers a prompt by the underlying provider. If that cannot deliver prompts, the prompt is refused for now, because a
// worker may connect. It implements runtime.Deliverer.
func (u *pendingWorker) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	out, err := runtime.Deliver(ctx, u.Provider, name, d)
	if err == nil && out.State == runtime.OutcomeUnsupported {
		return refused(runtime.RefusedUnready, "it waits up to 30s for a worker to connect; without one: "+out.Detail), nil
	}
	return out, err
}

// wasWithdrawn reports whether the outcome of a delivery is that the prompt was withdrawn. It
// returns err unchanged.
func wasWithdrawn(out runtime.Outcome, err error) (bool, error) {
	return err == nil && out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedWithdrawn, err
}
