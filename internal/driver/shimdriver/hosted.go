package shimdriver

import (
	"context"

	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// Host is implemented by a driver that runs a program of its own between the shim and the agent. All input to the agent and all
// its state go through that program. The program handles one request at a time, so Sessions does not lock the session's input.
type Host interface {
	// Prepare returns the configuration that runs the program for cfg. folder is the
	// session's private folder.
	Prepare(name, folder string, cfg runtime.Config) (runtime.Config, error)
	// Deliver and Settle do the same as the function types [Deliver] and [Settle].
	Deliver(ctx context.Context, l Live, p inject.Prompt) (runtime.Outcome, error)
	Settle(ctx context.Context, l Live) (runtime.Outcome, error)
	// Interrupt interrupts the agent's turn.
	Interrupt(ctx context.Context, l Live) error
	// Sense returns the agent's state as the host program reports it.
	Sense(ctx context.Context, l Live) (HostReport, error)
}

// HostReport is the state of an agent as its host program reports it.
type HostReport struct {
	Evidence     runtime.Evidence
	Pending      *runtime.PendingInteraction
	Conversation *runtime.Conversation // nil if not known yet
	Progress     runtime.Progress
}

// OpenHosted returns the sessions of a driver that delivers prompts in another way than by typing: through a [Host].
func OpenHosted(opts Options, host Host) (*Sessions, error) {
	return open(opts, &Sessions{deliver: host.Deliver, settle: host.Settle, host: host})
}
