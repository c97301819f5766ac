// Package agentcmd has the commands on agents: show the screen, the output and the state of
// an agent, send keys to it, and start or stop it.
package agentcmd

import (
	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

// app is one run of the program.
type app struct{ *cmdenv.Renderer }

// Commands returns the commands explain, peek, logs, interrupt, keys, resume, kill, drain and session.
func Commands(v *cmdenv.Renderer) []*cobra.Command {
	a := &app{v}
	return []*cobra.Command{
		explainCommand(a), peekCommand(a), logsCommand(a), interruptCommand(a), keysCommand(a), resumeCommand(a), killCommand(a), drainCommand(a), sessionCommand(a),
	}
}
