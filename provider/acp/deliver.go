package acp

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/acp/bridge"
	"gascity/internal/driver/shimdriver"
	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// confirmTime is how long a sign of the agent is waited for by default. Some think for a
// while before they say anything.
const confirmTime = 10 * time.Second

// Deliver implements shimdriver.Host: the prompt waits for the turns before it, and is
// submitted when the agent shows that it works on it.
func (w *acpHost) Deliver(ctx context.Context, l shimdriver.Live, p inject.Prompt) (runtime.Outcome, error) {
	if p.Text == "" {
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "empty"}, nil
	}
	if !utf8.ValidString(p.Text) || strings.IndexFunc(p.Text, isControl) >= 0 {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "the text has a control character or is not UTF-8"}, nil
	}
	out, err := clientOf(l).Deliver(ctx, bridge.Delivery{
		ID: l.Delivery, Once: l.Once, Text: p.Text, Busy: w.cfg.BusyTimeout, Confirm: cmp.Or(p.Confirm, confirmTime),
	})
	switch {
	case errors.Is(err, bridge.ErrNoHost):
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: "not a byte was sent: " + err.Error()}, nil
	case err != nil && out.State == runtime.OutcomeAbsent && ctx.Err() != nil: // not a byte was sent
		return out, err
	}
	return out, err
}

// isControl finds what is refused everywhere, so that a prompt means the same on
// each driver.
func isControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0
}

// Settle implements shimdriver.Host. The host remembers what it sent for as long as
// the instance lives.
func (w *acpHost) Settle(ctx context.Context, l shimdriver.Live) (runtime.Outcome, error) {
	return clientOf(l).Settle(ctx, l.Delivery)
}

// Interrupt implements shimdriver.Host: it returns when the turn has ended.
func (w *acpHost) Interrupt(ctx context.Context, l shimdriver.Live) error {
	err := clientOf(l).Cancel(ctx)
	if errors.Is(err, bridge.ErrNoHost) {
		return nil // there is no turn before the handshake
	}
	return err
}
