package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Signal returns a command for a hook (set-hook) or a key: when tmux carries it out, each
// subscription gets a Signal with the text. It works in all versions, within
// milliseconds, and in hooks, whose commands otherwise cause no notifications. The text is 1 to 200 printable ASCII
// characters. The command holds for the server that the client is connected to; without one it
// is ErrNoServer.
func (c *Client) Signal(text string) Command {
	if text == "" || len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return Command{err: fmt.Errorf("%w: %q cannot be a signal", ErrWord, text)}
	}
	c.mu.Lock()
	connection := c.connection
	c.mu.Unlock()
	if connection == nil {
		return Command{err: fmt.Errorf("%w: a signal needs one", ErrNoServer)}
	}
	return Sequence(
		Cmd("send-keys", "-t", connection.signalPane, "-l", "--", text),
		Cmd("send-keys", "-t", connection.signalPane, "Enter"),
	)
}

// Monitor watches a format: a Monitored event comes with its first value and within
// about a second of each change. The target is a pane ("%1"), a window ("@1"), "%*"
// all panes, "@*" all windows of the hub, or "" the hub. Monitors outlive reconnections, not the
// server. The name holds letters, digits, `-` and `_`. Errors: ErrUnknown where Features.Monitors is
// false, ErrWord, and those of Do.
func (c *Client) Monitor(ctx context.Context, name, target, format string) error {
	if !isName(name) {
		return fmt.Errorf("%w: %q cannot name a monitor", ErrWord, name)
	}
	command := Cmd("refresh-client", "-B", name+":"+target+":"+format)
	if _, err := c.Do(ctx, command); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.monitors[name] = command
	return nil
}

// Unmonitor ends a monitor; one that is not there is no error.
func (c *Client) Unmonitor(ctx context.Context, name string) error {
	if !isName(name) {
		return fmt.Errorf("%w: %q cannot name a monitor", ErrWord, name)
	}
	c.mu.Lock()
	delete(c.monitors, name)
	c.mu.Unlock()
	_, err := c.Do(ctx, Cmd("refresh-client", "-B", name))
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	return err
}

func (c *Client) monitorsNow() []Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Command, 0, len(c.monitors))
	for _, command := range c.monitors {
		all = append(all, command)
	}
	return all
}

func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}
