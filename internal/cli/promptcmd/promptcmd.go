// Package promptcmd holds the commands by which people talk with agents: prompts and
// their delivery status, the questions that agents ask, and waits.
package promptcmd

import (
	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

// app is one run of the program.
type app struct{ *cmdenv.Renderer }

// Commands returns those about prompts and waits: send, queue, receipt, wait.
func Commands(v *cmdenv.Renderer) []*cobra.Command {
	a := &app{v}
	return []*cobra.Command{sendCommand(a), queueCommand(a), receiptCommand(a), waitCommand(a)}
}

// Questions returns the commands about what agents ask: pending, respond.
func Questions(v *cmdenv.Renderer) []*cobra.Command {
	a := &app{v}
	return []*cobra.Command{pendingCommand(a), respondCommand(a)}
}
