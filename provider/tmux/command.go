package tmux

import (
	"fmt"
	"strings"
)

// tmuxCommand is one line for tmux, created by [cmd], [sequence] or [ifFormat]. [controlClient.Do] returns an error, and sends
// nothing, for the zero tmuxCommand and for a command with an invalid word.
type tmuxCommand struct {
	// names are the names of the line's commands that certainly run, in order.
	names []string
	line  string
	err   error
	// nested: the line contains a command that runs other commands, see splitReply.
	nested bool
}

// cmd returns a command of tmux with the given name and arguments. Each word reaches the command unchanged, with any
// content: `;`, `#`, `$`, `~`, quotes, newlines, bytes that are not UTF-8. [controlClient.Do] returns errWord if a word contains
// a NUL byte, the name is not valid or there are more than 1,000 words.
//
// The command itself may interpret a word: put "--" before a text that may begin with `-`. Many commands also expand
// formats (`#{...}`) in their words.
func cmd(name string, words ...string) tmuxCommand {
	c := tmuxCommand{names: []string{name}}
	if len(words) > maxWords {
		c.err = fmt.Errorf("%w: %s has %d words, limit %d", errWord, name, len(words), maxWords)
		return c
	}
	if !isPlain(name) {
		c.err = fmt.Errorf("%w: %q is not the name of a command", errWord, name)
		return c
	}
	line := make([]byte, 0, 128)
	line = append(line, name...)
	for _, word := range words {
		if strings.IndexByte(word, 0) >= 0 {
			c.err = fmt.Errorf("%s: %w", name, errNUL)
			return c
		}
		line = append(line, ' ')
		if isPlain(word) {
			line = append(line, word...)
		} else {
			line = appendQuoted(line, word)
		}
	}
	c.line = string(line)
	return c
}

// sequence returns a command that runs the commands in order and stops at the first that fails. The server runs nothing
// else in between. The reply contains the joined outputs and the error of the command that failed. Without commands
// sequence returns the zero tmuxCommand.
func sequence(commands ...tmuxCommand) tmuxCommand {
	var all tmuxCommand
	lines := make([]string, 0, len(commands))
	for _, c := range commands {
		if c.err != nil {
			return c
		}
		if c.line == "" {
			continue
		}
		all.names, all.nested = append(all.names, c.names...), all.nested || c.nested
		lines = append(lines, c.line)
	}
	all.line = strings.Join(lines, " ; ")
	return all
}

// ifFormat returns a command that makes the tmux server evaluate a format and then run one of two commands: the command "then" if
// the result is neither empty nor "0", else the command "otherwise". The zero tmuxCommand runs nothing. The server runs no
// other command in between. The reply is the output of the chosen command.
//
// The format is evaluated for the target, or for the hub if target is empty. If the target is the id of a pane ("%3") that
// does not exist, the condition is false. For any other target that does not exist, tmux uses the hub without an error, so
// the format must test something that only the target has.
//
// The commands are sent as quoted words. The server parses only the chosen one. If they were sent as blocks ("{ }"), the
// server would parse and log both, which takes longer than running them.
func ifFormat(target, format string, then, otherwise tmuxCommand) tmuxCommand {
	for _, branch := range []tmuxCommand{then, otherwise} {
		if branch.err != nil {
			return branch
		}
	}
	words := []string{"-F"}
	if target != "" {
		words = append(words, "-t", target)
	}
	if strings.HasPrefix(target, "%") {
		format = "#{&&:#{==:#{pane_id}," + target + "}," + format + "}"
	}
	c := cmd("if", append(words, "--", format)...)
	if c.err != nil {
		return c
	}
	c.nested = true
	line := make([]byte, 0, len(c.line)+len(then.line)+len(otherwise.line)+32)
	line = append(append(line, c.line...), ' ')
	line = appendQuoted(line, then.line)
	if otherwise.line != "" {
		line = appendQuoted(append(line, ' '), otherwise.line)
	}
	c.line = string(line)
	return c
}

// nameAt returns the name of the command whose block is the n-th of the reply.
func (c tmuxCommand) nameAt(n int) string { return c.names[min(n, len(c.names)-1)] }

// Line returns the command line that is sent, or errWord if the command is not valid.
func (c tmuxCommand) Line() (string, error) {
	if c.err == nil && c.line == "" {
		return "", fmt.Errorf("%w: the command is empty", errWord)
	}
	return c.line, c.err
}

// tmuxReply is the result of one tmuxCommand.
type tmuxReply struct {
	// Output is the output of the command, without its final newline. It may contain bytes that are not UTF-8.
	Output []byte
	// Err is nil, a *commandError, or the reason for a missing reply: errInterrupted, errServerLost, errClosed.
	Err error
}

// Lines returns the lines of the output; nil if the output is empty.
func (r tmuxReply) Lines() []string { return splitLines(r.Output) }
