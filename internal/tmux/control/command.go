package control

import (
	"fmt"
	"strings"
)

// Command is one line for tmux, made by [Cmd], [Sequence] or [If]. The zero Command
// is refused by [Client.Do], as is one with an unusable word, before anything is sent.
type Command struct {
	// names are the commands in it as far as they are certain to run in this order.
	names []string
	line  string
	err   error
	// nested: it carries out others, see splitReply.
	nested bool
}

// Cmd returns one command of tmux: its name and its words. Each word reaches the command
// byte for byte, whatever it holds: `;`, `#`, `$`, `~`, quotes, newlines, bytes that
// are not UTF-8. A NUL byte, an empty name and more than 1,000 words are ErrWord.
//
// What the command itself makes of a word is its own matter: a text that may begin
// with `-` needs a "--" before it, formats need [Literal].
func Cmd(name string, words ...string) Command {
	c := Command{names: []string{name}}
	if len(words) > maxWords {
		c.err = fmt.Errorf("%w: %s has %d words, limit %d", ErrWord, name, len(words), maxWords)
		return c
	}
	if !isPlain(name) {
		c.err = fmt.Errorf("%w: %q is not the name of a command", ErrWord, name)
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

// Sequence carries out the commands in order, stops at the first that fails, and
// lets nothing else happen in between. It has one reply: the outputs joined, the error of
// the one that failed. Of no commands it is the zero Command.
func Sequence(commands ...Command) Command {
	var all Command
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

// If evaluates the format inside the server and carries out then when it is neither
// empty nor "0", otherwise the other; a zero Command does nothing. Check and act are one
// step: nothing happens in between. Its reply is what the chosen command printed. The
// format sees the target, or the hub when it is empty. When the target is the id of a pane
// ("%3") that does not exist, the condition does not hold. Any other target that does not exist
// is silently the hub: the format must then name something that only the target has.
//
// The commands are sent as words, which the server parses when it has chosen: as blocks ("{ }") it
// would parse both, and print both for its log, which takes it longer than to carry them out.
func If(target, format string, then, otherwise Command) Command {
	for _, branch := range []Command{then, otherwise} {
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
	c := Cmd("if", append(words, "--", format)...)
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

// nameAt names the command whose block is the n-th of the reply.
func (c Command) nameAt(n int) string { return c.names[min(n, len(c.names)-1)] }

// Line returns the command as it is sent, or the reason why it cannot be.
func (c Command) Line() (string, error) {
	if c.err == nil && c.line == "" {
		return "", fmt.Errorf("%w: the command is empty", ErrWord)
	}
	return c.line, c.err
}

// Reply is the result of one Command.
type Reply struct {
	// Output is what tmux printed, without its final newline. It may hold bytes that are not UTF-8.
	Output []byte
	// Err is nil, a *CommandError, or the reason why there is no reply: ErrInterrupted,
	// ErrServerLost, ErrClosed.
	Err error
}

// Lines returns the lines of the output; none when it is empty.
func (r Reply) Lines() []string { return splitLines(r.Output) }
