package proc

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// FirstProgram returns the first program that a shell command runs. It returns an empty string if that cannot be determined
// without running the command.
func FirstProgram(command string) (string, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return "", err
	}
	if len(file.Stmts) == 0 {
		return "", nil
	}
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || slices.ContainsFunc(call.Assigns, func(a *syntax.Assign) bool { return a.Name != nil && a.Name.Value == "PATH" }) {
		return "", nil
	}
	for _, word := range call.Args {
		text := word.Lit()
		if text == "" {
			text = quotedText(word)
		}
		switch {
		case text == "exec", text == "command", text == "nohup":
			continue
		case strings.HasPrefix(text, "-"), strings.HasPrefix(text, "~"), strings.ContainsAny(text, "*?[\\"), slices.Contains(shellBuiltins, text):
			return "", nil
		}
		return text, nil
	}
	return "", nil
}

// builtins are the commands that a shell runs itself.
var shellBuiltins = []string{
	".", ":", "[", "alias", "bg", "break", "builtin", "cd", "continue", "declare", "echo", "eval", "exit", "export", "false", "fg",
	"getopts", "hash", "jobs", "kill", "let", "local", "printf", "pwd", "read", "readonly", "return", "set", "shift", "shopt",
	"source", "test", "time", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unset", "wait",
}

// quotedText returns the text of a word that is one quoted literal, else an empty string.
func quotedText(word *syntax.Word) string {
	if len(word.Parts) != 1 {
		return ""
	}
	switch part := word.Parts[0].(type) {
	case *syntax.SglQuoted:
		if !part.Dollar {
			return part.Value
		}
	case *syntax.DblQuoted:
		if len(part.Parts) == 1 {
			if lit, ok := part.Parts[0].(*syntax.Lit); ok {
				return lit.Value
			}
		}
	}
	return ""
}

// FindProgram returns the path of a program. dir is the working directory for a relative path, and path is the PATH that is
// searched.
func FindProgram(program, dir, path string) (string, error) {
	if strings.Contains(program, "/") {
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		return program, checkExecutable(program)
	}
	for _, folder := range filepath.SplitList(path) {
		candidate := filepath.Join(cmp.Or(folder, "."), program)
		if checkExecutable(candidate) == nil {
			return candidate, nil
		}
	}
	return "", errors.New("is not found")
}

// checkExecutable returns an error if path is not an executable file.
func checkExecutable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.New("does not exist")
	case info.IsDir():
		return errors.New("is a folder")
	case info.Mode().Perm()&0o111 == 0:
		return errors.New("is not executable")
	}
	return nil
}
