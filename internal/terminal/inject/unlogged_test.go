package inject

import (
	"context"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// unlogged is a Lease of a terminal whose deliveries are not logged.
type unlogged struct{ screen.Terminal }

func (u unlogged) Begin(context.Context, string, string, []byte) error { return nil }

func (u unlogged) Type(ctx context.Context, _ Input, p []byte) error { return u.Send(ctx, p) }

func (u unlogged) Account(context.Context, string) (DeliveryAccount, error) {
	return DeliveryAccount{}, nil
}

func (u unlogged) RecordOutcome(context.Context, DeliveryEntry) error { return nil }

// Hold holds the keys of people if the terminal can.
func (u unlogged) Hold(ctx context.Context) (release func(), err error) {
	if holder, ok := u.Terminal.(screen.Holder); ok {
		return holder.Hold(ctx)
	}
	return nil, nil
}

// Type delivers a prompt that is not logged.
func Type(ctx context.Context, t screen.Terminal, p Prompt, rules screen.Rules) (runtime.Outcome, error) {
	return target{unlogged{t}, "id"}.deliver(ctx, p, rules)
}
