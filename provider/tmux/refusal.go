package tmux

import "strings"

// refusals maps error texts of tmux to the errors that callers test for. A text that ends with a space is a prefix;
// others must match completely. The texts cover all versions from 3.0 on.
var refusals = []struct {
	text string
	err  error
}{
	{"can't find session: ", errNotFound},
	{"can't find window: ", errNotFound},
	{"can't find pane: ", errNotFound},
	{"can't find client: ", errNotFound},
	{"session not found: ", errNotFound},
	{"window not found: ", errNotFound},
	{"pane not found: ", errNotFound},
	{"no such session: ", errNotFound},
	{"no such window: ", errNotFound},
	{"no such pane: ", errNotFound},
	{"no buffer ", errNotFound},
	{"unknown buffer: ", errNotFound},
	{"unknown variable: ", errNotFound},
	{"no current session", errNotFound},
	{"no current window", errNotFound},
	{"no current pane", errNotFound},
	{"no current client", errNotFound},
	{"no current target", errNotFound},
	{"no sessions", errNotFound},
	{"duplicate session: ", errExists},
	{"duplicate window: ", errExists},
	{"index in use: ", errExists},
}

// refusal returns the error for the text with which tmux has refused a command.
func refusal(command, text string) *commandError {
	err := &commandError{Command: command, Text: text}
	for _, known := range refusals {
		if text == known.text || strings.HasSuffix(known.text, " ") && strings.HasPrefix(text, known.text) {
			err.Err = known.err
			break
		}
	}
	return err
}
