// Package agentcmd holds the commands that look at one agent and act on it: what it
// shows, how it is, and whether it is to run.
package agentcmd

import (
	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

// app is one run of the program.
type app struct{ *cmdenv.Renderer }

// Commands are explain, peek, logs, interrupt, keys, resume, kill, drain and session.
func Commands(v *cmdenv.Renderer) []*cobra.Command {
	a := &app{v}
	return []*cobra.Command{
		explainCommand(a), peekCommand(a), logsCommand(a), interruptCommand(a), keysCommand(a), resumeCommand(a), killCommand(a), drainCommand(a), sessionCommand(a),
	}
}
