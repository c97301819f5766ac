package driver

import (
	"context"
	"time"

	"gascity/internal/proc"
	"gascity/runtime"
)

const (
	// CallTimeout bounds the methods of the contract that have no context.
	CallTimeout = 30 * time.Second
	// nudgeTimeout bounds a nudge. It is long, because a long text takes as long as the agent takes to read it.
	nudgeTimeout = 5 * time.Minute
)

// CallContext returns a context that ends after [CallTimeout]. It is for those methods of runtime.Provider that have no parameter
// ctx.
func CallContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), CallTimeout) //nolint:forbidigo // the contract's method has no ctx
}

// Nudge implements runtime.Input.Nudge for a driver that reports the outcomes of prompts.
func Nudge(d runtime.Deliverer, name string, content []runtime.ContentBlock) error {
	ctx, cancel := context.WithTimeout(context.Background(), nudgeTimeout) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	out, err := d.Deliver(ctx, name, runtime.Delivery{Content: content})
	if err != nil {
		return err
	}
	return runtime.NudgeError(out)
}

// TerminateRuntime implements runtime.ProcessTableScanner.TerminateRuntime. stop stops a session of the driver.
func TerminateRuntime(r runtime.LiveRuntime, stop func(name string) error) error {
	if r.IsTracked {
		return stop(r.ProviderName)
	}
	ctx, cancel := CallContext()
	defer cancel()
	return proc.TerminateAgent(ctx, r)
}
