package acp

import (
	"cmp"
	"context"
	"errors"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/driver/shimdriver"
	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// confirmTime is the default limit for waiting until the agent shows that it works on a prompt.
// Some agents think for seconds before their first message.
const confirmTime = 10 * time.Second

// Deliver implements shimdriver.Host. The prompt waits until earlier turns have ended. It is
// submitted when the agent shows that it works on the prompt.
func (w *acpHost) Deliver(ctx context.Context, l shimdriver.Live, p inject.Prompt) (runtime.Outcome, error) {
	if inject.HasControl(p.Text) {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "the text contains a control character or is not UTF-8"}, nil
	}
	out, err := clientOf(l).Deliver(ctx, bridge.Delivery{
		ID: l.Delivery, Once: l.Once, Text: p.Text, Busy: w.cfg.BusyTimeout, Confirm: cmp.Or(p.Confirm, confirmTime),
	})
	if errors.Is(err, bridge.ErrNoHost) {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: "no byte was sent: " + err.Error()}, nil
	}
	return out, err
}

// Settle implements shimdriver.Host. The ACP host remembers what it sent while the
// instance runs.
func (w *acpHost) Settle(ctx context.Context, l shimdriver.Live) (runtime.Outcome, error) {
	return clientOf(l).Settle(ctx, l.Delivery)
}

// Interrupt implements shimdriver.Host. It returns when the turn has ended.
func (w *acpHost) Interrupt(ctx context.Context, l shimdriver.Live) error {
	err := clientOf(l).Cancel(ctx)
	if errors.Is(err, bridge.ErrNoHost) {
		return nil // there is no turn before the handshake
	}
	return err
}
