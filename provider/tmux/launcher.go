package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/internal/launch"
)

const shellPath = "/bin/sh"

// tellsOfPane are the variables that the server sets for its panes. Those of whoever runs
// gc are about another terminal.
var tellsOfPane = []string{"TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERMCAP", "COLUMNS", "LINES", "WINDOWID", "STY"}

// writeLauncher writes the script that becomes the agent: it removes itself, makes the
// environment and runs the command. So nothing of the environment is ever in an argument
// or in the server.
func (b *box) writeLauncher(spec launch.Spec, workDir string) (path string, err error) {
	var text strings.Builder
	env := b.environ(spec)
	fmt.Fprintf(&text, "cd -- %s || exit 126\n", quote(workDir))
	for _, name := range unwanted(b.provider.server.env, env, spec) {
		fmt.Fprintf(&text, "unset %s\n", name)
	}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if isName(name) {
			fmt.Fprintf(&text, "export %s=%s\n", name, quote(value))
		}
	}
	fmt.Fprintf(&text, "exec %s\n", command(spec, env))
	dir := b.dir().Prompts()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "start-*.sh") // 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "rm -f -- %s\n%s", quote(f.Name()), text.String())
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, remove(f.Name()))
	}
	return f.Name(), nil
}

// environ is the agent's environment without what the server tells it of its terminal.
func (b *box) environ(spec launch.Spec) []string {
	own := func(name string) bool { _, set := spec.Vars[name]; return set }
	env := slices.DeleteFunc(spec.Environ(b.provider.cfg.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(tellsOfPane, name) && !own(name) || name == "COLORTERM" && !own(name)
	})
	if !own("COLORTERM") && !slices.Contains(spec.Unset, "COLORTERM") {
		env = append(env, "COLORTERM=truecolor")
	}
	return env
}

// unwanted returns what the server gives its panes and the agent must not have.
func unwanted(server, env []string, spec launch.Spec) []string {
	var names []string
	for _, entry := range server {
		if name, _, _ := strings.Cut(entry, "="); value(env, name) == "" {
			names = append(names, name)
		}
	}
	for _, name := range spec.Unset {
		if isName(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range []string{"LC_CTYPE", "SHELL", "OLDPWD"} {
		if value(env, name) == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// command is the agent's command, or the user's shell if there is none.
func command(spec launch.Spec, env []string) string {
	if spec.Command != "" {
		return shellPath + " -c " + quote(spec.Command)
	}
	if shell := value(env, "SHELL"); filepath.IsAbs(shell) {
		return quote(shell)
	}
	return shellPath
}

// isName reports whether a shell can have a variable of that name.
func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// quote returns a text as one word of any POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// remove removes a file that may be gone already.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
