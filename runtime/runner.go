package runtime

import "context"

// Runner starts and stops sessions.
type Runner interface {
	// Start creates the named session and returns when it is ready, in the order of the package
	// documentation's start sequence.
	//
	// It returns [ErrSessionExists] if a live session has the name, and does not change that
	// session. A session whose agent has exited is not live; Start replaces it. If the agent exits
	// before start-up is complete, the error is [ErrSessionDiedDuringStartup] with the last output.
	// If a pre_start command fails, Start returns before it creates any process of the agent.
	//
	// ctx limits the whole start. When it ends, or any step fails, Start stops and removes what it
	// created and returns the cause: a failed Start leaves no process, socket or metadata. Files
	// that were copied into the working directory stay.
	Start(ctx context.Context, name string, cfg Config) error

	// Stop stops the named session. When it returns nil, every process that the session started has
	// exited, also processes with a new parent. Stop of a session that does not exist returns nil,
	// so a second call is harmless. An error means that a process may still run, and names it.
	Stop(name string) error

	// Interrupt asks the agent to abandon its current turn (Ctrl-C or SIGINT). It is best effort:
	// nil does not prove an effect, and a missing session is nil. The session continues to exist.
	Interrupt(name string) error
}
