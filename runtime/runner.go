package runtime

import "context"

// Runner begins and ends sessions.
type Runner interface {
	// Start creates the named session and returns when it is ready, in the
	// order of the package documentation's start sequence.
	//
	// It returns [ErrSessionExists] if a live session has the name, and leaves
	// that one alone. A session whose agent has exited does not count as live:
	// it is replaced. An agent that exits before start-up completed is
	// [ErrSessionDiedDuringStartup] with its last output. A failing pre_start
	// command aborts the start before any process of the agent exists.
	//
	// ctx bounds the whole start. When it ends, or any step fails, Start stops
	// what it created and removes it, then returns the cause: a failed Start
	// leaves no process, socket or metadata behind. Files staged into the
	// working directory stay.
	Start(ctx context.Context, name string, cfg Config) error

	// Stop ends the named session: every process that the session started,
	// however it was re-parented, is gone when Stop returns nil. A session that
	// does not exist is nil, so calling twice is harmless. An error means that
	// something may still run, and names it.
	Stop(name string) error

	// Interrupt asks the agent to abandon its current turn (Ctrl-C or SIGINT).
	// Best effort: nil does not prove an effect, and a missing session is nil.
	// The session stays.
	Interrupt(name string) error
}
