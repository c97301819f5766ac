package fakeagent

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Name is the program name that selects the fake agent, see [Called].
const Name = "fakeagent"

// markKey is set in the environment of all processes that the fake agent starts, because it starts itself under other names.
const markKey = "FAKEAGENT"

// Called reports whether a program that contains the fake agent must run as the fake agent: it was started under the name
// [Name] or by the fake agent itself. argv0 is os.Args[0].
func Called(argv0 string) bool {
	return filepath.Base(argv0) == Name || os.Getenv(markKey) != ""
}

// Main runs the fake agent and returns the exit status.
func Main(args []string) int {
	if err := os.Setenv(markKey, "1"); err != nil {
		fmt.Fprintln(os.Stderr, "fakeagent:", err)
		return 1
	}
	return run(args)
}

// run runs the subcommand. Exit codes are 0 for success, 1 for failure and 2 for wrong usage, unless flags or directives select
// another one.
func run(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "ledger", "verify":
			return report(args, os.Stdout, os.Stderr)
		case helperCommand:
			return runHelper(args[1:])
		}
	}
	more, err := splitArgs(os.Getenv("FAKEAGENT_ARGS"))
	var m *modes
	if err == nil {
		m, err = parseModes(append(more, args...), os.Stderr)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "fakeagent:", err)
		return 2
	}
	code, err := become(m)
	if err == nil && code < 0 {
		code, err = runAgent(m, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakeagent:", err)
		return max(code, 1)
	}
	return code
}

// splitArgs splits text at blanks. Single and double quotes protect blanks; no other character is special.
func splitArgs(text string) ([]string, error) {
	var args []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				args = append(args, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("FAKEAGENT_ARGS: a quote is not closed")
	}
	if inWord {
		args = append(args, word.String())
	}
	return args, nil
}

// printEnvironment writes the environment to a file. Each entry ends with NUL.
func printEnvironment(path string) error {
	return os.WriteFile(path, []byte(strings.Join(os.Environ(), "\x00")+"\x00"), 0o600)
}

// warn writes a line to w and ignores errors. It writes nothing for an empty text.
func warn(w io.Writer, text string) {
	if text != "" {
		_, _ = fmt.Fprintln(w, text)
	}
}
