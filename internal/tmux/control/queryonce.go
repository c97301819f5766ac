package control

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// QueryOnce is Output by a process of its own, unless this client is connected. It is for who asks
// once and hears nothing: that process is no control client, so nothing that panes print is sent
// to it, and no server crashes because it comes or goes, see alone. It starts no server. Errors as
// for Output.
func (c *Client) QueryOnce(ctx context.Context, command Command) ([]byte, error) {
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
	binary, err := FindProgram(c.options.Binary, c.options.Path)
	if err != nil {
		return nil, err
	}
	listens, err := listening(ctx, c.options.Socket)
	if err != nil {
		return nil, err
	}
	if !listens {
		return nil, fmt.Errorf("%w at %s", ErrNoServer, c.options.Socket)
	}
	process := exec.CommandContext(ctx, binary, "-u", "-S", c.options.Socket, "if-shell", "-F", "1", line)
	var said tail
	process.Env, process.Dir, process.Stderr = c.options.Env, "/", &said
	output, err := process.Output()
	switch text := strings.TrimSpace(said.String()); {
	case err == nil:
		return bytes.TrimSuffix(output, []byte("\n")), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case ended(text):
		return nil, fmt.Errorf("%w at %s: %s", ErrNoServer, c.options.Socket, text)
	default:
		return nil, refusal(command.nameAt(0), text)
	}
}

// ended reports whether a process of tmux says that its server has ended, or ended meanwhile.
func ended(text string) bool {
	for _, begin := range []string{"no server running on ", "error connecting to ", "lost server", "server exited"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}
