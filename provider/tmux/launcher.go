package tmux

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/internal/driver/startup"
	tmuxserver "gascity/internal/tmux/server"
)

const shellPath = "/bin/sh"

// paneVariables are the variables that the server sets for its panes. Those in the
// environment of gc are about another terminal.
var paneVariables = []string{"TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERMCAP", "COLUMNS", "LINES", "WINDOWID", "STY"}

// waiter is the program for sh that is the process of a pane: it runs the agent, waits until tmux has
// read all its output, and exits as the agent did. tmux closes a pane when it learns that the pane's
// process has exited, and discards what the system has not handed over by then: the last output. It
// answers a request for the status of the terminal (DSR 5) when it has read everything before it. The
// string terminator (ST) ends what the agent may have left incomplete.
//
// The agent stays in the foreground process group of the pane. Exit codes above 128 are those of sh for a
// signal. A terminal that is gone sends SIGHUP to this shell alone; only the shell's death makes the
// system send it to the agent: so HUP is not caught.
const waiter = `trap : INT QUIT TERM
exec 3>&2 2>/dev/null
"$@" 2>&3 3>&-
code=$? received=
if stty -icanon -echo -isig min 0 time 100; then
	printf '\033\\\033[5n'
	while more=$(dd bs=4096 count=1 | tr -d '\000') && [ -n "$more" ]; do
		received=$received$more
		case $received in *'[0n'*) break ;; esac
	done
fi
case $((code - 128)) in
[1-9] | 1[0-5])
	ulimit -c 0
	trap - INT QUIT TERM
	kill -$((code - 128)) $$
	;;
esac
exit $code`

// writeLauncher writes the script that becomes the [waiter] for the agent, so that nothing of its environment
// is ever in an argument or in the server.
func (b *sessionBackend) writeLauncher(spec startup.Spec, workDir string) (path string, err error) {
	env := b.environ(spec)
	return startup.Script{
		Dir: workDir, Unset: unwanted(b.provider.server.Env(), env, spec), Env: env, Argv: append([]string{shellPath, "-c", waiter, "sh"}, argv(spec, env)...),
	}.Write(b.dir().Prompts())
}

// environ returns the agent's environment without what the server says about its terminal.
func (b *sessionBackend) environ(spec startup.Spec) []string {
	own := func(name string) bool { _, set := spec.Vars[name]; return set }
	env := slices.DeleteFunc(spec.Environ(b.provider.cfg.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(paneVariables, name) && !own(name) || name == "COLORTERM" && !own(name)
	})
	if !own("COLORTERM") && !slices.Contains(spec.Unset, "COLORTERM") {
		env = append(env, "COLORTERM=truecolor")
	}
	return env
}

// unwanted returns what the server gives its panes and the agent must not have.
func unwanted(server, env []string, spec startup.Spec) []string {
	var names []string
	for _, entry := range server {
		if name, _, _ := strings.Cut(entry, "="); tmuxserver.Value(env, name) == "" {
			names = append(names, name)
		}
	}
	for _, name := range spec.Unset {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range []string{"LC_CTYPE", "SHELL", "OLDPWD"} {
		if tmuxserver.Value(env, name) == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// argv runs the agent's command, or the user's shell if there is none.
func argv(spec startup.Spec, env []string) []string {
	if spec.Command != "" {
		return []string{shellPath, "-c", spec.Command}
	}
	if shell := tmuxserver.Value(env, "SHELL"); filepath.IsAbs(shell) {
		return []string{shell}
	}
	return []string{shellPath}
}

// remove removes a file that may be gone already.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
