package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

// maxReason is the largest size of the reason of an operation, in bytes.
const maxReason = 4 << 10

// lifeInput is the input of an operation on the lifecycle of a session.
type lifeInput struct {
	Named
	Body client.LifecycleRequest
}

// change returns the handler of a request that changes whether a session runs, such as sleep. verb
// is the method of [City] that carries it out.
func change(verb func(City, context.Context, string, client.LifecycleRequest) (client.Done, error)) handler[lifeInput, reply[client.Done]] {
	return func(ctx context.Context, city City, in *lifeInput) (*reply[client.Done], error) {
		if len(in.Body.Reason) > maxReason {
			return nil, fmt.Errorf("%w: the reason has %d bytes, at most %d are allowed", client.ErrInvalid, len(in.Body.Reason), maxReason)
		}
		if err := client.CheckDuration("timeout_ns", in.Body.Timeout); err != nil {
			return nil, err
		}
		return answer(verb(city, ctx, in.Target, in.Body))
	}
}
