package controlapi

import (
	"context"
	"fmt"
	"time"

	"gascity/client"
)

// conditionInput is the condition to wait for.
type conditionInput struct{ Body client.WaitRequest }

// await waits until a condition holds or can never hold.
func await(ctx context.Context, s *Server, in *conditionInput) (*reply[client.Wait], error) {
	req := in.Body
	if err := checkCondition(req); err != nil {
		return nil, err
	}
	return answer(s.city.Await(ctx, req))
}

// addWait registers a durable wait.
func addWait(ctx context.Context, city City, in *conditionInput) (*reply[client.Wait], error) {
	if err := checkCondition(in.Body); err != nil {
		return nil, err
	}
	if in.Body.Owner == "" {
		return nil, fmt.Errorf("%w: a registered wait needs an owner: the agent to notify", client.ErrInvalid)
	}
	return answer(city.AddWait(ctx, in.Body))
}

// checkCondition returns client.ErrInvalid for a condition that is not valid.
func checkCondition(req client.WaitRequest) error {
	if err := checkTime("timeout_ns", req.Timeout); err != nil {
		return err
	}
	switch req.For {
	case client.WaitIdle, client.WaitBusy, client.WaitWaiting, client.WaitRunning, client.WaitStopped:
		if req.Target == "" {
			return fmt.Errorf("%w: a wait for %s needs a target: the name of an agent or a session", client.ErrInvalid, req.For)
		}
		return nil
	case client.WaitReceipt, client.WaitPending, client.WaitTime, client.WaitCommand:
		if req.Arg == "" {
			return fmt.Errorf("%w: a wait for a %s needs arg", client.ErrInvalid, req.For)
		}
	default:
		return fmt.Errorf("%w: %q is not a condition; the conditions are: idle, busy, waiting, running, stopped, receipt, pending, time, command", client.ErrInvalid, req.For)
	}
	if req.For == client.WaitTime {
		if _, err := time.Parse(time.RFC3339Nano, req.Arg); err != nil {
			return fmt.Errorf("%w: %q is not an RFC 3339 time", client.ErrInvalid, req.Arg)
		}
	}
	return nil
}

// waitsInput selects the entries of the listing of waits.
type waitsInput struct {
	Which client.Which `query:"which" enum:"ended" doc:"include waits that ended recently"`
}

// waits returns the registered waits.
func waits(ctx context.Context, city City, in *waitsInput) (*reply[[]client.Wait], error) {
	return rows(city.Waits(ctx, in.Which))
}

// cancelWait ends a registered wait.
func cancelWait(ctx context.Context, city City, in *Identified) (*reply[client.Wait], error) {
	return answer(city.CancelWait(ctx, in.ID))
}
