package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

// none is the input of a route without parameters.
type none struct{}

// reply is the output of a route: one JSON document.
type reply[T any] struct{ Body T }

// answer returns the output of a route from the result of a method of [City]: the body, or err.
func answer[T any](body T, err error) (*reply[T], error) {
	if err != nil {
		return nil, err
	}
	return &reply[T]{Body: body}, nil
}

// rows returns the output of a listing. An empty listing is [] and not null.
func rows[T any](list []T, err error) (*reply[[]T], error) {
	return answer(append([]T{}, list...), err)
}

// restartInput names the agents to restart.
type restartInput struct{ Body client.RestartRequest }

// restart restarts the named agents, or all agents if none is named.
func restart(ctx context.Context, city City, in *restartInput) (*reply[client.Done], error) {
	if in.Body.Instance != "" && len(in.Body.Targets) != 1 {
		return nil, fmt.Errorf("%w: a restart of one instance needs exactly one target, not %d", client.ErrInvalid, len(in.Body.Targets))
	}
	return answer(city.Restart(ctx, in.Body))
}

// applyInput names the agents whose changed configuration is applied.
type applyInput struct{ Body client.ApplyRequest }

// apply applies postponed configuration changes to the named agents now.
func apply(ctx context.Context, city City, in *applyInput) (*reply[client.Done], error) {
	return answer(city.Apply(ctx, in.Body))
}
