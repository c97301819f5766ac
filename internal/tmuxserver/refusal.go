package tmuxserver

import "strings"

// refusals maps error texts of tmux to the errors that callers test for. A text that ends with a space is a prefix;
// others must match completely. The texts cover all versions from 3.0 on.
var refusals = []struct {
	text string
	err  error
}{
	{"can't find session: ", ErrNotFound},
	{"can't find window: ", ErrNotFound},
	{"can't find pane: ", ErrNotFound},
	{"can't find client: ", ErrNotFound},
	{"session not found: ", ErrNotFound},
	{"window not found: ", ErrNotFound},
	{"pane not found: ", ErrNotFound},
	{"no such session: ", ErrNotFound},
	{"no such window: ", ErrNotFound},
	{"no such pane: ", ErrNotFound},
	{"no buffer ", ErrNotFound},
	{"unknown buffer: ", ErrNotFound},
	{"unknown variable: ", ErrNotFound},
	{"no current session", ErrNotFound},
	{"no current window", ErrNotFound},
	{"no current pane", ErrNotFound},
	{"no current client", ErrNotFound},
	{"no current target", ErrNotFound},
	{"no sessions", ErrNotFound},
	{"duplicate session: ", ErrExists},
	{"duplicate window: ", ErrExists},
	{"index in use: ", ErrExists},
}

// refusal returns the error for the text with which tmux has refused a command.
func refusal(command, text string) *CommandError {
	err := &CommandError{Command: command, Text: text}
	for _, known := range refusals {
		if text == known.text || strings.HasSuffix(known.text, " ") && strings.HasPrefix(text, known.text) {
			err.Err = known.err
			break
		}
	}
	return err
}
