package notify

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/textfmt"
)

const (
	// programOutput is the number of bytes of a program's output that are stored.
	programOutput = 64 << 10
	// programGrace is how long background processes may keep the output open after the program has exited.
	programGrace = 500 * time.Millisecond
)

// run runs a program with arguments, without a shell, and returns the end of its output. When the program has exited, it kills
// the rest of its process group. The error contains the end of the error output.
func (env *Environment) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	path, err := env.FindProgram(name)
	if err != nil {
		return nil, final("%s not found in PATH of the controller; install it", name)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = env.Dir, env.Environ
	out, failure := &proc.Tail{Most: programOutput}, &proc.Tail{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, failure, programGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killGroup := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = killGroup
	err = cmd.Run()
	if cmd.Process != nil {
		_ = killGroup() // mostly nothing is left
	}
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // it succeeded
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && failure.String() != "":
		return nil, fmt.Errorf("%s: %w: %s", name, err, textfmt.Brief(failure.String()))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out.Bytes(), nil
}

// desktop is a sink that shows messages on the desktop of this machine.
type desktop struct{ env Environment }

// maxDesktop is the maximum number of characters of a text on the desktop.
const maxDesktop = 500

// Send shows the message on the desktop by a program of the operating system. The text is always an argument and never a part of
// a script or of markup. It implements [Sender].
func (d desktop) Send(ctx context.Context, m *Message) error {
	text := textfmt.Bound(m.Text, maxDesktop)
	if m.Link != "" {
		text += "\n" + m.Link
	}
	if d.env.GOOS == "darwin" {
		_, err := d.env.run(ctx, "osascript",
			"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", "--", m.Title, text)
		return err
	}
	urgency := "normal"
	if m.Urgent {
		urgency = "critical"
	}
	_, err := d.env.run(ctx, "notify-send", "--app-name=gc", "--urgency="+urgency, "--", m.Title, escapeMarkup(text))
	return err
}

// escapeMarkup escapes the markup of notifications and of Slack, which is like that of HTML.
func escapeMarkup(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// terminal is a sink that shows messages in the status line of all clients of the user's tmux server.
type terminal struct {
	socket string
	env    Environment
}

// displayTime is how long a client shows a message, in milliseconds.
const displayTime = "10000"

// Send shows the message in every client of the tmux server. If the server has no clients, no person saw the message, and the caller
// tries again later. It implements [Sender].
func (t terminal) Send(ctx context.Context, m *Message) error {
	var server []string
	if t.socket != "" {
		server = []string{"-S", t.socket}
	}
	out, err := t.env.run(ctx, "tmux", append(server, "list-clients", "-F", "#{client_name}")...)
	if err != nil {
		return err
	}
	shown := 0
	text := escapeFormat(textfmt.OneLine(textfmt.Bound(m.Title+": "+m.Text, maxDesktop)))
	for client := range strings.Lines(string(out)) {
		_, failed := t.env.run(ctx, "tmux", append(server, "display-message", "-c", strings.TrimSpace(client), "-d", displayTime, text)...)
		if failed == nil {
			shown++
		}
		err = errors.Join(err, failed)
	}
	if shown > 0 {
		return nil
	}
	if err == nil {
		err = errors.New("no client is attached to the tmux server")
	}
	return err
}

// escapeFormat returns the text so that tmux shows it literally: in a format, tmux would run commands such as #(command). A space
// comes first, because a leading dash would be an option.
func escapeFormat(text string) string {
	return " " + strings.NewReplacer("#", "##", "%", "%%").Replace(text)
}
