package tmuxctl

// Command is one line for tmux, made by [Cmd], [Sequence] or [If]. The zero Command
// does nothing. A Command with an unusable word is refused by [Client.Do] before
// anything is sent.
type Command struct {
	name string
	line string
	err  error
	// fenced: the reply is not exactly one block of text that is safe to read.
	fenced bool
}

// Cmd is one command of tmux: its name and its words. Each word reaches the command
// byte for byte, whatever it holds: `;`, `#`, `$`, `~`, quotes, newlines, bytes that
// are not UTF-8. A NUL byte, an empty name and more than 1,000 words are ErrWord.
//
// What the command itself makes of a word is its own matter: a text that may begin
// with `-` needs a "--" before it, formats need [Literal].
func Cmd(name string, words ...string) Command { return command(name, words) }

// Sequence carries out the commands in order, stops at the first that fails, and
// lets nothing else happen in between. It has one reply: the outputs joined, the error of
// the one that failed.
func Sequence(commands ...Command) Command { return sequence(commands) }

// If evaluates the format inside the server and carries out then when it is neither
// empty nor "0", otherwise the other. Check and act are one step: nothing happens in
// between. Its reply is what the chosen command printed. Formats see the target
// (a pane id such as "%3"), or the hub when it is empty; a target that does not
// exist makes every format of it empty.
func If(target, format string, then, otherwise Command) Command {
	return conditional(target, format, then, otherwise)
}

// Line returns the command as it is sent, or the reason why it cannot be.
func (c Command) Line() (string, error) { return c.line, c.err }

// Reply is what became of one Command.
type Reply struct {
	// Output is what tmux printed, without its final newline. It may hold bytes that are not UTF-8.
	Output []byte
	// Err is nil, a *CommandError, or the reason why there is no reply: ErrInterrupted,
	// ErrServerLost, ErrClosed.
	Err error
}

// Lines returns the lines of the output; none when it is empty.
func (r Reply) Lines() []string { return splitLines(r.Output) }
