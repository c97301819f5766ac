package shimdriver

import (
	"context"

	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// Host is the way in of a driver that has a program of its own between the shim and the
// agent: what reaches the agent, and what is known of it, goes through that program,
// which does one thing at a time by itself. So nothing here takes the input's lock.
type Host interface {
	// Prepare returns the configuration that runs the program for cfg. folder is the
	// session's private folder.
	Prepare(name, folder string, cfg runtime.Config) (runtime.Config, error)
	// Deliver and Settle are as [Deliver] and [Settle].
	Deliver(ctx context.Context, l Live, p inject.Prompt) (runtime.Outcome, error)
	Settle(ctx context.Context, l Live) (runtime.Outcome, error)
	// Interrupt cuts the agent's turn off.
	Interrupt(ctx context.Context, l Live) error
	// Sense is what the program knows of the agent.
	Sense(ctx context.Context, l Live) (HostReport, error)
}

// HostReport is what such a program knows of its agent.
type HostReport struct {
	Evidence     runtime.Evidence
	Pending      *runtime.PendingInteraction
	Conversation *runtime.Conversation // nil: not known yet
	Progress     runtime.Progress
}

// OpenHosted opens the sessions of a driver whose agents have such a program.
func OpenHosted(opts Options, host Host) (*Sessions, error) {
	s, err := open(opts, host.Deliver, host.Settle)
	if err == nil {
		s.host = host
	}
	return s, err
}
