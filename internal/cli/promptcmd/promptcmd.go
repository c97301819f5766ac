// Package promptcmd has the commands for prompts and their delivery status, for the
// questions that agents ask, and for waits.
package promptcmd

import (
	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

// app is one run of the program.
type app struct{ *cmdenv.Renderer }

// Commands returns the commands for prompts and waits: send, queue, receipt, wait.
func Commands(v *cmdenv.Renderer) []*cobra.Command {
	a := &app{v}
	return []*cobra.Command{sendCommand(a), queueCommand(a), receiptCommand(a), waitCommand(a)}
}

// Questions returns the commands for questions of agents: pending, respond.
func Questions(v *cmdenv.Renderer) []*cobra.Command {
	a := &app{v}
	return []*cobra.Command{pendingCommand(a), respondCommand(a)}
}
