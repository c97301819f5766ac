package tmux

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	"gascity/internal/driver"
	"gascity/internal/proc"
)

const shellPath = "/bin/sh"

// paneVariables are the variables that the server sets for its panes. Their values in the environment of gc
// describe another terminal.
var paneVariables = []string{"TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERMCAP", "COLUMNS", "LINES", "WINDOWID", "STY"}

// waiter is the sh program that runs as the process of a pane. It runs the agent, waits until tmux has read all
// output, and exits with the agent's status. Without the wait the last output could be lost: tmux closes a pane
// when it learns that the pane's process has exited, and discards output that it has not read by then.
//
// The waiter sends a terminal status request (DSR 5). tmux answers it when it has read everything before it. The
// string terminator (ST) before the request ends an incomplete sequence of the agent.
//
// The agent stays in the foreground process group of the pane. An exit code above 128 is the code of sh for a
// signal. If the terminal closes, the system sends SIGHUP to this shell alone, and to the agent only when the
// shell exits. Therefore the shell does not catch HUP.
//
// The shell is a subreaper if Config.Subreaper is set. stopSignal announces that gc stops the session: then the shell stays for
// some more seconds after the agent has exited, so that all processes of the session are its descendants until gc has found
// that none is left.
const waiter = `trap : INT QUIT TERM
unset GC_SUBREAPER
stopping=
trap stopping=1 USR2
exec 3>&2 2>/dev/null
"$@" 2>&3 3>&-
code=$? received=
if stty -icanon -echo -isig min 0 time 250; then
	printf '\033\\\033[5n'
	while more=$(dd bs=4096 count=1 | tr '\000\n' '..') && [ -n "$more" ]; do
		received=$received$more
		case $received in *'[0n'*) break ;; esac
	done
	[ -z "$stopping" ] || read -r more
fi
case $((code - 128)) in
[1-9] | 1[0-5])
	ulimit -c 0
	trap - INT QUIT TERM
	kill -$((code - 128)) $$
	;;
esac
exit $code`

// writeLauncher writes the script that starts the [waiter] with the agent, and returns its path. The agent's
// environment is in the script, so it appears in no argument and not in the server.
func (b *sessionBackend) writeLauncher(spec driver.StartSpec, workDir string) (path string, err error) {
	env := b.environ(spec)
	return driver.LaunchScript{
		Dir: workDir, Unset: variablesToUnset(b.provider.server.env, env, spec), Env: env,
		Argv: slices.Concat(b.provider.subreaper(), []string{shellPath, "-c", waiter, "sh"}, driver.ShellCommand(spec.Command, env)),
	}.Write(b.dir().Prompts())
}

// subreaper returns Config.Subreaper if it can be run, else nil.
func (p *Provider) subreaper() []string {
	if len(p.cfg.Subreaper) == 0 {
		return nil
	}
	if _, err := exec.LookPath(p.cfg.Subreaper[0]); err != nil {
		return nil
	}
	return p.cfg.Subreaper
}

// environ returns the agent's environment without paneVariables, except those that the spec sets itself.
func (b *sessionBackend) environ(spec driver.StartSpec) []string {
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

// variablesToUnset returns the names of variables that the pane inherits from the server or its shell and the
// agent must not have.
func variablesToUnset(server, env []string, spec driver.StartSpec) []string {
	inherited := []string{"LC_CTYPE", "SHELL", "OLDPWD"}
	for _, entry := range server {
		name, _, _ := strings.Cut(entry, "=")
		inherited = append(inherited, name)
	}
	names := slices.DeleteFunc(inherited, func(name string) bool { return proc.Getenv(env, name) != "" })
	return slices.Compact(slices.Sorted(slices.Values(append(names, spec.Unset...))))
}

// remove removes a file. It returns nil if the file does not exist.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
