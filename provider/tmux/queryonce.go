package tmux

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"gascity/internal/proc"
)

// QueryOnce runs one command in a separate tmux process and returns its output. If this client is connected, it calls
// Output instead. Use it for a single query that needs no notifications. The process is no control client: it receives no
// output of panes, and cannot cause the crash that lockExclusive describes. It starts no server. Errors are those of
// Output.
func (c *controlClient) QueryOnce(ctx context.Context, command tmuxCommand) ([]byte, error) {
	c.mu.Lock()
	state := c.state
	c.mu.Unlock()
	if state == connected || state == reconnecting || state == closed {
		return c.Output(ctx, command)
	}
	line, err := command.Line()
	if err != nil {
		return nil, err
	}
	binary, err := findProgram(c.options.Binary, c.options.Path)
	if err != nil {
		return nil, err
	}
	listens, err := listening(ctx, c.options.Socket)
	if err != nil {
		return nil, err
	}
	if !listens {
		return nil, fmt.Errorf("%w at %s", errNoServer, c.options.Socket)
	}
	process := exec.CommandContext(ctx, binary, "-u", "-S", c.options.Socket, "if-shell", "-F", "1", line)
	var stderr proc.Tail
	process.Env, process.Dir, process.Stderr = c.options.Env, "/", &stderr
	output, err := process.Output()
	switch text := stderr.String(); {
	case err == nil:
		return bytes.TrimSuffix(output, []byte("\n")), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case isServerGone(text):
		return nil, fmt.Errorf("%w at %s: %s", errNoServer, c.options.Socket, text)
	default:
		return nil, refusal(command.nameAt(0), text)
	}
}

// isServerGone reports whether the error text of a tmux process means that there is no server.
func isServerGone(text string) bool {
	for _, begin := range []string{"no server running on ", "error connecting to ", "lost server", "server exited"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}
