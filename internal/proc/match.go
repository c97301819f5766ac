package proc

import (
	"path/filepath"
	"slices"
	"strings"
)

// interpreter describes how to find the script in the arguments of an interpreter.
type interpreter struct {
	words  []string // subcommands that may come before the script
	values []string // flags whose value is the next argument
	code   []string // flags whose argument is program text, so that there is no script
	module string   // flag whose value is used instead of a script
}

var (
	scriptWords  = []string{"run", "exec", "x"}
	interpreters = map[string]interpreter{
		"node": {
			words:  scriptWords,
			values: []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"},
			code:   []string{"-e", "--eval", "-p", "--print", "-pe"},
		},
		"bun": {
			words:  scriptWords,
			values: []string{"-r", "--preload", "--require", "--import", "--cwd", "--config", "--env-file"},
			code:   []string{"-e", "--eval", "-p", "--print"},
		},
		"deno": {
			words:  scriptWords,
			values: []string{"-c", "--config", "--import-map", "--preload", "--cert"},
			code:   []string{"-e", "--eval", "eval"},
		},
		"npx":    {words: scriptWords, values: []string{"-p", "--package"}, code: []string{"-c", "--call"}},
		"python": {values: []string{"-W", "-X"}, code: []string{"-c"}, module: "-m"},
		"sh":     {values: []string{"-o"}, code: []string{"-c"}},
	}
)

// interpreterOf returns the rules for a program name and reports whether it is an interpreter.
func interpreterOf(program string) (interpreter, bool) {
	program = strings.ToLower(program)
	switch program {
	case "bash", "dash", "zsh":
		program = "sh"
	case "nodejs":
		program = "node"
	case "bunx":
		program = "bun"
	}
	if rest, ok := strings.CutPrefix(program, "python"); ok && strings.Trim(rest, "0123456789.") == "" {
		program = "python"
	}
	rules, ok := interpreters[program]
	return rules, ok
}

// Match reports whether a process is one of the named programs. It compares names with the kernel's name of the process and
// with the file name of its first argument. For an interpreter (node, bun, npx, deno, python, sh) it also compares the file
// name of the script, with and without extension. The whole name must be equal, including case. Match does not check whether
// the process is alive: see [Alive].
func Match(info Info, argv, names []string) bool {
	var known []string
	add := func(name string) {
		if name != "" && name != "." && name != "/" {
			known = append(known, name)
		}
	}
	add(filepath.Base(info.Comm))
	program := ""
	if len(argv) > 0 && argv[0] != "" {
		program = strings.TrimPrefix(filepath.Base(argv[0]), "-") // a login shell is "-sh"
		add(program)
	}
	if rules, ok := interpreterOf(program); ok {
		if script := rules.script(argv[1:]); script != "" {
			base := filepath.Base(script)
			add(base)
			add(strings.TrimSuffix(base, filepath.Ext(base)))
			if name, _, ok := strings.Cut(base, "@"); ok {
				add(name) // a name such as package@version
			}
		}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return name != "" && slices.Contains(known, filepath.Base(name))
	})
}

// script returns the script in the arguments of an interpreter, or "" if there is none.
func (r interpreter) script(args []string) string {
	words := r.words
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case r.module != "" && arg == r.module && i+1 < len(args):
			return args[i+1]
		case r.isCode(arg):
			return ""
		case slices.Contains(r.values, arg):
			i++
		case strings.HasPrefix(arg, "-"):
		case slices.Contains(words, arg):
			words = nil // only the first such word is a subcommand
		default:
			return arg
		}
	}
	return ""
}

// isCode reports whether an argument of the interpreter means that the next argument is program text, such as -c of a
// shell, also among other flags as in -lc.
func (r interpreter) isCode(arg string) bool {
	if slices.Contains(r.code, arg) {
		return true
	}
	cluster := len(arg) > 2 && arg[0] == '-' && arg[1] != '-' // several flags in one argument, such as -lc
	return cluster && strings.HasSuffix(arg, "c") && slices.Contains(r.code, "-c")
}
