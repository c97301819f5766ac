package k8s

import (
	"context"
	"io"
	"time"

	"gascity/runtime"
)

// absent implements the extensions for a session whose pod cannot be reached. Its methods return
// err, the reason.
type absent struct {
	*Provider

	err error
}

// Route returns nil, so that the search for extensions stops here.
func (a absent) Route(string) runtime.Provider { return nil }

// outcome returns the outcome of a prompt: absent if the session does not exist, else refused.
func (a absent) outcome() (runtime.Outcome, error) {
	if runtime.IsSessionGone(a.err) {
		return runtime.Outcome{State: runtime.OutcomeAbsent}, nil
	}
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: a.err.Error()}, nil
}

// Deliver implements runtime.Deliverer.
func (a absent) Deliver(context.Context, string, runtime.Delivery) (runtime.Outcome, error) {
	return a.outcome()
}

// Settle implements runtime.Settler. The outcome of a delivery to an unreachable pod is
// unconfirmed.
func (a absent) Settle(context.Context, string, runtime.Delivery) (runtime.Outcome, error) {
	if runtime.IsSessionGone(a.err) {
		return a.outcome()
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: a.err.Error()}, a.err
}

// Withdraw implements runtime.Withdrawer.
func (a absent) Withdraw(context.Context, string, runtime.Delivery) (bool, error) {
	return false, a.err
}

// Sense implements runtime.Sensor.
func (a absent) Sense(context.Context, string) (runtime.Reading, error) {
	return runtime.Reading{}, a.err
}

// Pending implements runtime.InteractionProvider.
func (a absent) Pending(string) (*runtime.PendingInteraction, error) { return nil, a.err }

// Respond implements runtime.InteractionProvider.
func (a absent) Respond(string, runtime.InteractionResponse) error { return a.err }

// WaitForIdle implements runtime.IdleWaitProvider.
func (a absent) WaitForIdle(context.Context, string, time.Duration) error { return a.err }

// WaitForInterruptBoundary implements runtime.InterruptBoundaryWaitProvider.
func (a absent) WaitForInterruptBoundary(context.Context, string, time.Time, time.Duration) error {
	return a.err
}

// NudgeNow implements runtime.ImmediateNudgeProvider.
func (a absent) NudgeNow(_ string, content []runtime.ContentBlock) error {
	if len(content) == 0 {
		return nil
	}
	return a.err
}

// DismissKnownDialogs implements runtime.DialogProvider.
func (a absent) DismissKnownDialogs(context.Context, string, time.Duration) error { return a.err }

// Relaunch implements runtime.RelaunchProvider.
func (a absent) Relaunch(context.Context, string, runtime.Config) error { return a.err }

// Recover implements runtime.Recoverer.
func (a absent) Recover(context.Context, string, string) error { return a.err }

// AttachTerminal implements runtime.Attacher.
func (a absent) AttachTerminal(context.Context, string, runtime.AttachOptions) error { return a.err }

// ResetInterruptedTurn implements runtime.InterruptedTurnResetProvider.
func (a absent) ResetInterruptedTurn(context.Context, string) error { return a.err }

// CopyFrom implements runtime.CopyFromProvider.
func (a absent) CopyFrom(context.Context, string, string, io.Writer) error { return a.err }
