package controlapi

import (
	"context"
	"io"
	"time"

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
	Lifecycle
	Draining
	Prompts
	Questions
	Conditions
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
	Explain(ctx context.Context, target string) (client.Explanation, error)
}

// Agents are the verbs on one agent. A request that names another instance
// than the present one is client.ErrRefused.
type Agents interface {
	Peek(ctx context.Context, target string, lines int) (client.Output, error)
	Interrupt(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Keys(ctx context.Context, target string, req client.KeysRequest) (client.Done, error)
	// ClearInput empties the agent's input box; client.ErrUnsupported if it has none.
	ClearInput(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Copy(ctx context.Context, target string, req client.CopyRequest) (client.Done, error)
	Kill(ctx context.Context, target string, req client.LifecycleRequest) (client.StopResult, error) // end the instance; the controller brings it back
}

// Lifecycle are the verbs on whether a session is to run. They are durable when
// they return.
type Lifecycle interface {
	Wake(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Sleep(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Suspend(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Resume(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Reset(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
}

// Draining is how a session comes to its end in good order. The requests name the
// instance; another one's are client.ErrRefused.
type Draining interface {
	Drain(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	DrainState(ctx context.Context, target string) (client.Drain, error)
	DrainAck(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	RequestRestart(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
}

// Prompts are prompts and their receipts. A receipt is answered when it is
// durable.
type Prompts interface {
	// Nudge takes a prompt and returns when it is durable. req.Wait is empty: the
	// server asks for the receipt to wait.
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error)
	// Queue lists what is on its way in the order of delivery, of all sessions if
	// target is empty; see client.Which.
	Queue(ctx context.Context, target string, which client.Which) ([]client.Receipt, error)
	// Receipt returns a receipt; with wait (a Receipt state) when it has come so
	// far or ended.
	Receipt(ctx context.Context, id, wait string) (client.Receipt, error)
	EditPrompt(ctx context.Context, id string, req client.EditRequest) (client.Receipt, error)
	CancelPrompt(ctx context.Context, id string) (client.Receipt, error)
	// RetryPrompt sends a prompt whose receipt has ended once more, as a new prompt.
	RetryPrompt(ctx context.Context, id string, req client.RetryRequest) (client.Receipt, error)
}

// Questions are what blocks agents: the pending questions.
type Questions interface {
	Pending(ctx context.Context, target string, which client.Which) ([]client.Pending, error)
	Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error)
}

// Conditions are what somebody waits for.
type Conditions interface {
	// Await returns when the condition holds, or never can, or ctx ends. The end of
	// req.Timeout is client.ErrTimeout.
	Await(ctx context.Context, req client.WaitRequest) (client.Wait, error)
	AddWait(ctx context.Context, req client.WaitRequest) (client.Wait, error)
	Waits(ctx context.Context, which client.Which) ([]client.Wait, error)
	CancelWait(ctx context.Context, id string) (client.Wait, error)
}

// Control are the verbs on the city as a whole.
type Control interface {
	Reload(ctx context.Context) (client.Done, error)
	Restart(ctx context.Context, req client.RestartRequest) (client.Done, error)
	// Apply does now what a changed configuration asks for and what waits.
	Apply(ctx context.Context, req client.ApplyRequest) (client.Done, error)
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

// Previewer is the extension of a City that can compare another configuration
// with what runs. Without it previews are client.ErrUnsupported.
type Previewer interface {
	// Preview returns what would be done. A faulty configuration is
	// client.ErrInvalid with its mistakes.
	Preview(ctx context.Context, req client.PreviewRequest) (client.Plan, error)
}

// EventFinder is the extension of a City that finds events by their time. Without it
// all that are remembered are read.
type EventFinder interface {
	// Since returns the id of the newest event that is older than t, zero if
	// there is none.
	Since(ctx context.Context, t time.Time) (id uint64, err error)
}
