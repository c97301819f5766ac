package startup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/shell"
	"mvdan.cc/sh/v3/syntax"

	"gascity/runtime"
)

const (
	// maxInline is the longest quoted prompt that is put on the command line.
	maxInline = 1 << 10
	// maxArg is the longest argument that the kernel passes to a program, with
	// its terminating NUL (MAX_ARG_STRLEN).
	maxArg = 128 << 10
)

// launchCommand is how an agent is started with its first prompt.
type launchCommand struct {
	command string // for sh -c
	file    string // holds the prompt, deletes itself; empty if there is none
	typed   string // the prompt, if it has to be typed instead
}

// commandFor decides how the first prompt travels: a short one on the command
// line, a longer one by a file in dir that only the user can read, one that no
// argument can hold, or without dir, as a nudge.
func commandFor(cfg runtime.Config, dir string) (launchCommand, error) {
	if cfg.Command == "" || len(cfg.PromptSuffix) <= maxInline {
		return launchCommand{command: cfg.LaunchCommand()}, nil
	}
	text, err := unquote(cfg.PromptSuffix)
	if err != nil {
		return launchCommand{}, err
	}
	if dir == "" || len(text) >= maxArg {
		return launchCommand{command: cfg.Command, typed: text}, nil
	}
	file, err := writeLauncher(cfg, dir)
	if err != nil {
		return launchCommand{}, fmt.Errorf("cannot write the prompt: %w", err)
	}
	return launchCommand{command: ". " + quote(file), file: file}, nil
}

// quote returns a text as one word of any POSIX shell. (The syntax package
// refuses newlines for plain sh.)
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// unquote returns the text of a shell-quoted prompt.
func unquote(suffix string) (string, error) {
	fields, err := shell.Fields(suffix, func(string) string { return "" })
	if err != nil {
		return "", fmt.Errorf("prompt is not quoted for a shell: %w", err)
	}
	if len(fields) != 1 {
		return "", fmt.Errorf("prompt is not quoted for a shell: it has %d words, want one", len(fields))
	}
	return fields[0], nil
}

// writeLauncher writes the script that deletes itself and becomes the agent.
func writeLauncher(cfg runtime.Config, dir string) (file string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "launch-*.sh") // 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "rm -f -- %s\n%s%s\n", quote(f.Name()), execPrefix(cfg.Command), cfg.LaunchCommand())
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // the write has failed already
		return "", err
	}
	return f.Name(), nil
}

// notPrograms are words that exec cannot run.
var notPrograms = []string{"exec", "command", "cd", "eval", ".", "source", "export", "set", "unset", "ulimit", "umask", "trap"}

// execPrefix is "exec " if command is a plain program call, so that no shell
// stays between the session and its agent.
func execPrefix(command string) string {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
	if err != nil || len(parsed.Stmts) != 1 {
		return ""
	}
	stmt := parsed.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) == 0 || stmt.Background || stmt.Negated || len(stmt.Redirs) > 0 {
		return ""
	}
	if word := call.Args[0].Lit(); word == "" || slices.Contains(notPrograms, word) {
		return ""
	}
	return "exec "
}
