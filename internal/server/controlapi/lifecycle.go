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

// changeLifecycle checks the input of an operation and calls it.
func changeLifecycle(ctx context.Context, in *lifeInput, verb func(context.Context, string, client.LifecycleRequest) (client.Done, error)) (*reply[client.Done], error) {
	if len(in.Body.Reason) > maxReason {
		return nil, fmt.Errorf("%w: the reason has %d bytes, at most %d are allowed", client.ErrInvalid, len(in.Body.Reason), maxReason)
	}
	if err := checkTime("timeout_ns", in.Body.Timeout); err != nil {
		return nil, err
	}
	return answer(verb(ctx, in.Target, in.Body))
}

func wake(ctx context.Context, city City, in *lifeInput) (*reply[client.Done], error) {
	return changeLifecycle(ctx, in, city.Wake)
}

func sleep(ctx context.Context, city City, in *lifeInput) (*reply[client.Done], error) {
	return changeLifecycle(ctx, in, city.Sleep)
}

func suspend(ctx context.Context, city City, in *lifeInput) (*reply[client.Done], error) {
	return changeLifecycle(ctx, in, city.Suspend)
}

func resume(ctx context.Context, city City, in *lifeInput) (*reply[client.Done], error) {
	return changeLifecycle(ctx, in, city.Resume)
}

func reset(ctx context.Context, city City, in *lifeInput) (*reply[client.Done], error) {
	return changeLifecycle(ctx, in, city.Reset)
}

func drain(ctx context.Context, city City, in *lifeInput) (*reply[client.Done], error) {
	return changeLifecycle(ctx, in, city.Drain)
}

func drainAck(ctx context.Context, city City, in *lifeInput) (*reply[client.Done], error) {
	return changeLifecycle(ctx, in, city.DrainAck)
}

func requestRestart(ctx context.Context, city City, in *lifeInput) (*reply[client.Done], error) {
	return changeLifecycle(ctx, in, city.RequestRestart)
}

func drainState(ctx context.Context, city City, in *Named) (*reply[client.Drain], error) {
	return answer(city.DrainState(ctx, in.Target))
}
