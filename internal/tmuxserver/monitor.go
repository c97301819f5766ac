package tmuxserver

import (
	"context"
	"fmt"
	"strings"
)

// Signal returns a command for a hook (set-hook) or a key binding. When tmux runs the command, each subscription gets a
// Signal event with the text within milliseconds. It works in all versions of tmux, and also in hooks, whose commands
// otherwise cause no notifications. The text must have 1 to 200 printable ASCII characters. The command is valid only for
// the server that the client is connected to. Without a connection the command's error is ErrNoServer.
func (c *Client) Signal(text string) Command {
	if text == "" || len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return Command{err: fmt.Errorf("%w: %q cannot be a signal", ErrWord, text)}
	}
	c.mu.Lock()
	connection := c.connection
	c.mu.Unlock()
	if connection == nil {
		return Command{err: fmt.Errorf("%w: a signal can be sent only while the client is connected to a server", ErrNoServer)}
	}
	return Sequence(
		Cmd("send-keys", "-t", connection.signalPane, "-l", "--", text),
		Cmd("send-keys", "-t", connection.signalPane, "Enter"),
	)
}

// Monitor monitors the value of a format. Subscriptions get a Monitored event with the first value, and one within about
// a second of each change. The target is a pane ("%1"), a window ("@1"), "%*" for all panes and "@*" for all windows of
// the hub, or "" for the hub itself. A monitor remains active after a reconnection, until the server is lost. The name
// consists of letters, digits, `-` and `_`. Errors: ErrUnknown if Features.Monitors is false, ErrWord, and those of Do.
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

// monitorCommands returns the commands that set all current monitors.
func (c *Client) monitorCommands() []Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Command, 0, len(c.monitors))
	for _, command := range c.monitors {
		all = append(all, command)
	}
	return all
}

// isName reports whether name is a valid name of a monitor.
func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}
