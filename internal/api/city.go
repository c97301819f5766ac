package api

import (
	"context"
	"io"

	"gascity/client"
)

// City is what the control API serves: the controller, seen from its edge. A
// target is an agent's name or a session's name. Errors are the sentinels of
// package client (client.ErrNotFound, client.ErrRefused, ...); their text names
// the target and the remedy. All methods are called concurrently.
//
// What changes something goes on when the caller hangs up: its ctx ends with
// the route's own limit or the server, not with the connection.
type City interface {
	Views
	Agents
	Control
	Feed
}

// Views are questions about the city without effect.
type Views interface {
	Status(ctx context.Context) (client.Status, error)
	Plan(ctx context.Context) (client.Plan, error)
	Session(ctx context.Context, target string) (client.Session, error)
	Config(ctx context.Context) (client.Config, error)
	Providers(ctx context.Context) ([]client.Provider, error)
}

// Agents are the verbs on one agent.
type Agents interface {
	Peek(ctx context.Context, target string, lines int) (client.Output, error)
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.NudgeResult, error)
	Interrupt(ctx context.Context, target string) (client.Done, error)
	Keys(ctx context.Context, target string, req client.KeysRequest) (client.Done, error)
	Copy(ctx context.Context, target string, req client.CopyRequest) (client.Done, error)
	Kill(ctx context.Context, target string) (client.StopResult, error) // end the incarnation; the controller brings it back
}

// Control are the verbs on the city as a whole.
type Control interface {
	Reload(ctx context.Context) (client.Done, error)
	Restart(ctx context.Context, targets []string) (client.Done, error) // empty: all
	// StopCity ends every session, then lets the controller exit. Progress is on
	// the event stream.
	StopCity(ctx context.Context) (client.Census, error)
	// StopController lets the controller exit and leaves the sessions running.
	StopController(ctx context.Context) (client.Done, error)
}

// Feed is the event stream.
type Feed interface {
	// Events returns what came after the event with the given id, and a channel
	// of what follows, closed when ctx ends. gap is true if events after id have
	// already been forgotten, or if id is one that this city never gave. A
	// reader that is slow is cut off by the server; the city may close the
	// channel to the same end.
	Events(ctx context.Context, after uint64) (past []client.Event, gap bool, next <-chan client.Event, err error)
}

// Recorder is the extension of a City that can read what its providers
// recorded. Without it logs are client.ErrUnsupported.
type Recorder interface {
	// Logs writes the recorded output of the target to w, oldest first. With
	// q.Follow it goes on until ctx ends, which is no error then. Each Write
	// reaches the reader at once. Nothing may be written before an error that
	// the reader should see as one.
	Logs(ctx context.Context, target string, q client.LogQuery, w io.Writer) error
}
