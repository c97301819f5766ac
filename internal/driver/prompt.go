package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/shell"
	"mvdan.cc/sh/v3/syntax"

	"gascity/internal/textfmt"
	"gascity/runtime"
)

const (
	// maxInline is the longest quoted prompt, in bytes, that is put on the command line.
	maxInline = 1 << 10
	// maxArg is the longest argument that the kernel passes to a program, in bytes with its terminating NUL (MAX_ARG_STRLEN).
	maxArg = 128 << 10
)

// launchCommand is the command that starts an agent with its first prompt.
type launchCommand struct {
	command string // for sh -c
	file    string // contains the prompt and deletes itself; empty if there is none
	typed   string // the prompt, if it must be typed instead
}

// commandFor decides how the first prompt is passed to the agent. A short prompt is on the command line. A longer prompt is in
// a file in dir that only the user can read. A prompt that is too long for an argument is typed; if dir is empty, every longer
// prompt is typed.
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
	file, err := writeScript(dir, "launch-*.sh", execPrefix(cfg.Command)+cfg.LaunchCommand())
	if err != nil {
		return launchCommand{}, fmt.Errorf("cannot write the prompt: %w", err)
	}
	return launchCommand{command: ". " + textfmt.ShellWord(file), file: file}, nil
}

// unquote returns the text of a prompt that is quoted for a shell.
func unquote(suffix string) (string, error) {
	fields, err := shell.Fields(suffix, func(string) string { return "" })
	if err != nil {
		return "", fmt.Errorf("the prompt of the command line must be one quoted shell word: %w", err)
	}
	if len(fields) != 1 {
		return "", fmt.Errorf("the prompt of the command line must be one quoted shell word: it has %d words", len(fields))
	}
	return fields[0], nil
}

// writeScript writes a script with mode 0600 into dir, which is created with mode 0700 if it is missing. The script removes
// itself and then runs text. The result is its absolute path.
func writeScript(dir, pattern, text string) (file string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, pattern) // 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "rm -f -- %s\n%s\n", textfmt.ShellWord(f.Name()), text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// notPrograms are shell words that exec cannot run.
var notPrograms = []string{"exec", "command", "cd", "eval", ".", "source", "export", "set", "unset", "ulimit", "umask", "trap"}

// execPrefix returns "exec " if command is a simple call of one program, else an empty string. With exec, no shell stays
// between the session and its agent.
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
