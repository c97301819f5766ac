package controlapi

import (
	"context"
	"io"
	"time"

	"gascity/client"
)

// City is what the control API serves: the controller and its engines. A target is the name of an
// agent or of a session. Errors are the sentinels of package client (client.ErrNotFound,
// client.ErrRefused, ...); their text names the target and the fix. All methods may be called
// concurrently.
//
// A call that changes something continues when the caller disconnects: its ctx ends with the
// route's time limit or the server, not with the connection.
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

// Views are the methods that read the state of the city.
type Views interface {
	Status(ctx context.Context) (client.Status, error)
	Plan(ctx context.Context) (client.Plan, error)
	Session(ctx context.Context, target string) (client.Session, error)
	Config(ctx context.Context) (client.Config, error)
	Providers(ctx context.Context) ([]client.Provider, error)
	Explain(ctx context.Context, target string) (client.Explanation, error)
}

// Agents are the operations on one agent. A request that names an instance other than the present
// one is client.ErrRefused.
type Agents interface {
	Peek(ctx context.Context, target string, lines int) (client.Output, error)
	Interrupt(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Keys(ctx context.Context, target string, req client.KeysRequest) (client.Done, error)
	// ClearInput empties the agent's input box. It returns client.ErrUnsupported if the agent has
	// none.
	ClearInput(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Copy(ctx context.Context, target string, req client.CopyRequest) (client.Done, error)
	Kill(ctx context.Context, target string, req client.LifecycleRequest) (client.StopResult, error) // stops the instance; the controller starts the agent again
}

// Lifecycle are the operations that decide whether a session is to run. Their effect is saved when
// they return.
type Lifecycle interface {
	Wake(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Sleep(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Suspend(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Resume(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	Reset(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
}

// Draining are the operations to shut a session down gracefully. The requests name the instance; a
// request for another instance is client.ErrRefused.
type Draining interface {
	Drain(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	DrainState(ctx context.Context, target string) (client.Drain, error)
	DrainAck(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
	RequestRestart(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error)
}

// Prompts are the operations on prompts and their receipts. A receipt is saved when it is returned.
type Prompts interface {
	// Nudge accepts a prompt and returns its receipt. req.Wait is empty: the server calls Receipt
	// to wait.
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error)
	// Queue returns the queued and injected prompts in the order of delivery. An empty target means
	// all sessions; see client.Which.
	Queue(ctx context.Context, target string, which client.Which) ([]client.Receipt, error)
	// Receipt returns a receipt. If wait is a state, it returns when the receipt has that state or
	// has ended.
	Receipt(ctx context.Context, id, wait string) (client.Receipt, error)
	EditPrompt(ctx context.Context, id string, req client.EditRequest) (client.Receipt, error)
	CancelPrompt(ctx context.Context, id string) (client.Receipt, error)
	// RetryPrompt sends the prompt of an ended receipt again, as a new prompt.
	RetryPrompt(ctx context.Context, id string, req client.RetryRequest) (client.Receipt, error)
}

// Questions are the operations on pending questions, which block agents.
type Questions interface {
	Pending(ctx context.Context, target string, which client.Which) ([]client.Pending, error)
	Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error)
}

// Conditions are the operations on waits.
type Conditions interface {
	// Await returns when the condition holds or can never hold. It returns client.ErrTimeout after
	// req.Timeout, and an error when ctx ends.
	Await(ctx context.Context, req client.WaitRequest) (client.Wait, error)
	AddWait(ctx context.Context, req client.WaitRequest) (client.Wait, error)
	Waits(ctx context.Context, which client.Which) ([]client.Wait, error)
	CancelWait(ctx context.Context, id string) (client.Wait, error)
}

// Control are the operations on the whole city.
type Control interface {
	Reload(ctx context.Context) (client.Done, error)
	Restart(ctx context.Context, req client.RestartRequest) (client.Done, error)
	// Apply applies at once the changes of the configuration that wait for the end of a turn.
	Apply(ctx context.Context, req client.ApplyRequest) (client.Done, error)
	// StopCity stops every session, and then the controller exits. Progress is on the event stream.
	StopCity(ctx context.Context) (client.Census, error)
	// StopController makes the controller exit. The sessions keep running.
	StopController(ctx context.Context) (client.Done, error)
}

// Feed is the event stream.
type Feed interface {
	// Events returns the events after the event with the given ID, and a channel of later events,
	// which is closed when ctx ends. gap is true if events after that ID were deleted, or if the
	// city never used the ID. The server disconnects a slow reader; the city may close the channel
	// for the same reason.
	Events(ctx context.Context, after uint64) (past []client.Event, gap bool, next <-chan client.Event, err error)
}

// Recorder is an optional extension of City: it reads the recorded output of sessions. Without it,
// requests for logs are client.ErrUnsupported.
type Recorder interface {
	// Logs writes the recorded output of the target to w, oldest first. With q.Follow it continues
	// until ctx ends, and then returns nil. Each Write is sent to the reader at once. If Logs
	// returns an error before its first Write, the reader gets it as a problem document.
	Logs(ctx context.Context, target string, q client.LogQuery, w io.Writer) error
}

// Previewer is an optional extension of City: it compares another configuration with what runs.
// Without it, previews are client.ErrUnsupported.
type Previewer interface {
	// Preview returns what the controller would do. An invalid configuration is client.ErrInvalid
	// with its mistakes.
	Preview(ctx context.Context, req client.PreviewRequest) (client.Plan, error)
}

// EventFinder is an optional extension of City: it finds events by time. Without it, all stored
// events are read.
type EventFinder interface {
	// Since returns the ID of the newest event that is older than t, or zero if there is none.
	Since(ctx context.Context, t time.Time) (id uint64, err error)
}
