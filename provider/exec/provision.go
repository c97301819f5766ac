package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"gascity/internal/driver/script"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// provisions reports whether the script first creates a sandbox and then runs the agent in it.
func (p *Provider) provisions() bool {
	return p.caps.Has(script.CapProvision) && p.caps.Has(script.CapExec)
}

// runInSandbox runs the command in the tmux session main of a new sandbox. done is false if the sandbox
// has no tmux; then the script's operation start must run it. An existing session main is used only
// if it belongs to the sandbox; see [tmuxSessions].
func (p *Provider) runInSandbox(ctx context.Context, name, command string) (done bool, err error) {
	fail := func(err error) (bool, error) {
		return false, &runtime.Error{Op: script.OpStart, Session: name, Err: err}
	}
	out, code, err := p.runLine(ctx, name, tmuxProbe, script.OpStart)
	if err != nil {
		return false, err
	}
	if code == 0 && !parseTmuxProbe(string(out), name) {
		return fail(errors.New(`a tmux session "main" exists that gc did not create: stop it, or give the script's sandbox its own tmux server`))
	}
	out, code, err = p.runLine(ctx, name, tmuxRun(name, command), script.OpStart)
	switch {
	case err != nil:
		return false, err
	case code == exitNoSession:
		return false, nil
	case code != 0:
		return fail(fmt.Errorf("tmux in the sandbox cannot start the agent: exit code %d: %.300s", code, out))
	}
	return true, nil
}

// tmuxRun returns the command line that runs a command in the tmux session main and marks that
// session with the session's name. The command is in a file that removes itself, and never in an
// argument.
func tmuxRun(name, command string) string {
	return "command -v tmux >/dev/null 2>&1 || exit 97\numask 077\n" +
		`f=$(mktemp) && printf %s ` + textfmt.ShellWord("rm -f -- \"$0\"\n"+cmp.Or(command, "exec /bin/sh")+"\n") + ` >"$f" || exit 98` + "\n" +
		`if tmux has-session -t =main 2>/dev/null; then tmux respawn-pane -k -t =main: "exec sh '$f'"` + "\n" +
		`else tmux new-session -d -x 200 -y 50 -s main "exec sh '$f'"; fi || { rm -f -- "$f"; exit 98; }` + "\n" +
		"tmux set-environment -t =main GC_SESSION_NAME " + textfmt.ShellWord(name) + " || :\n"
}
