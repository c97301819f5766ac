package api

import (
	"context"

	"gascity/client"
)

// City is what the control API serves: the controller, seen from its edge. A
// target is an agent's name or a session's name. Errors are the sentinels of
// package client (client.ErrNotFound, client.ErrRefused, ...); their text names
// the target and the remedy.
type City interface {
	Status(ctx context.Context) (client.Status, error)
	Plan(ctx context.Context) (client.Plan, error)
	Session(ctx context.Context, target string) (client.Session, error)
	Config(ctx context.Context) (client.Config, error)
	Providers(ctx context.Context) ([]client.Provider, error)

	Peek(ctx context.Context, target string, lines int) (client.Output, error)
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.NudgeResult, error)
	Interrupt(ctx context.Context, target string) (client.Done, error)
	Keys(ctx context.Context, target string, req client.KeysRequest) (client.Done, error)
	Copy(ctx context.Context, target string, req client.CopyRequest) (client.Done, error)
	Kill(ctx context.Context, target string) (client.StopResult, error) // end the incarnation; the controller brings it back

	Reload(ctx context.Context) (client.Done, error)
	Restart(ctx context.Context, targets []string) (client.Done, error) // empty: all
	// StopCity ends every session, then lets the controller exit. Progress is on
	// the event stream.
	StopCity(ctx context.Context) (client.Census, error)
	// StopController lets the controller exit and leaves the sessions running.
	StopController(ctx context.Context) (client.Done, error)

	// Events returns what came after the event with the given id, and a channel
	// of what follows, closed when ctx ends. gap is true if events after id have
	// already been forgotten.
	Events(ctx context.Context, after uint64) (past []client.Event, gap bool, next <-chan client.Event, err error)
}
