package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"gascity/internal/config"
	"gascity/internal/proc"
	"gascity/internal/redact"
	"gascity/internal/textfmt"
)

const (
	// maxVariable is the largest size of a variable in bytes. The JSON contains the whole text.
	maxVariable = 16 << 10
	// tryAgain is the exit status of a command that asks for another try: EX_TEMPFAIL.
	tryAgain = 75
)

// command is a sink that runs a shell command.
type command struct {
	line string
	env  Environment
}

// Send runs the command with the message as JSON on its standard input. Exit status 0 confirms the message. After status 75, a
// signal or the time limit, the caller tries again later; any other status is final. It implements [Sender].
func (c command) Send(ctx context.Context, m *Message) error {
	stdin, err := json.Marshal(m)
	if err != nil {
		return err
	}
	urgent, first := "", m.Items[0]
	if m.Urgent {
		urgent = "1"
	}
	env := slices.Clone(c.env.Environ)
	for _, pair := range [][2]string{
		{"GC_NOTIFY_ID", m.ID},
		{"GC_NOTIFY_KIND", first.Kind},
		{"GC_NOTIFY_AGENT", first.Agent},
		{"GC_NOTIFY_QUESTION", first.Question},
		{"GC_NOTIFY_TITLE", m.Title},
		{"GC_NOTIFY_TEXT", textfmt.Truncate(m.Text, maxVariable)},
		{"GC_NOTIFY_LINK", m.Link},
		{"GC_NOTIFY_URGENT", urgent},
		{"GC_CITY_PATH", c.env.Dir},
	} {
		env = append(env, pair[0]+"="+strings.ReplaceAll(pair[1], "\x00", ""))
	}
	err = c.withoutLine(proc.Shell{Line: c.line, Dir: c.env.Dir, Env: env, Stdin: append(stdin, '\n')}.RunAlone(ctx))
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() && exit.ExitCode() != tryAgain {
		return &SendError{Err: err, Final: true}
	}
	return err
}

// withoutLine returns the error of a command without its line, which may contain a credential, and with the credentials of the line
// masked in its output.
func (c command) withoutLine(err error) error {
	failed, ok := errors.AsType[*proc.ShellError](err)
	if !ok {
		return err
	}
	if failed.Output == "" {
		return fmt.Errorf("the command failed: %w", failed.Err)
	}
	hidden := &redact.Redactor{}
	for _, credential := range config.CommandCredentials(c.line) {
		hidden.Hide(credential)
	}
	return fmt.Errorf("the command failed: %w: %s", failed.Err, hidden.Text(failed.Output))
}
