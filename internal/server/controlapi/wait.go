package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

// conditionInput is the condition to wait for.
type conditionInput struct{ Body client.WaitRequest }

// await waits until a condition holds or can never hold.
func await(ctx context.Context, s *Server, in *conditionInput) (*reply[client.Wait], error) {
	req := in.Body
	if err := req.Check(); err != nil {
		return nil, err
	}
	return answer(s.city.Await(ctx, req))
}

// addWait registers a durable wait.
func addWait(ctx context.Context, city City, in *conditionInput) (*reply[client.Wait], error) {
	if err := in.Body.Check(); err != nil {
		return nil, err
	}
	if in.Body.Owner == "" {
		return nil, fmt.Errorf("%w: a registered wait needs an owner: the agent to notify", client.ErrInvalid)
	}
	return answer(city.AddWait(ctx, in.Body))
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
