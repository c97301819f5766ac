// Package talk holds the commands by which people talk with agents: prompts and
// their delivery status, the questions that agents ask, and waits.
package talk

import (
	"github.com/spf13/cobra"

	"gascity/internal/cli/view"
)

// app is one run of the program.
type app struct{ *view.View }

// Commands are those about prompts and waits: send, queue, receipt, wait.
func Commands(v *view.View) []*cobra.Command {
	a := &app{v}
	return []*cobra.Command{sendCommand(a), queueCommand(a), receiptCommand(a), waitCommand(a)}
}

// Questions are the commands about what agents ask: pending, respond.
func Questions(v *view.View) []*cobra.Command {
	a := &app{v}
	return []*cobra.Command{pendingCommand(a), respondCommand(a)}
}
