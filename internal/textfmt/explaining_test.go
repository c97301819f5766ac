package textfmt_test

import (
	"testing"

	"gascity/internal/textfmt"
)

// TestTheLineThatExplainsIsQuoted holds for outputs of real programs which of their lines is quoted as the
// reason of a failure: the one that explains it, and not the last one.
func TestTheLineThatExplainsIsQuoted(t *testing.T) {
	for name, test := range map[string]struct{ output, want string }{
		"claude without network": {`Welcome to Claude Code v2.1.197

 Unable to connect to Anthropic services

 Failed to connect to api.anthropic.com: ENOTFOUND

 Please check your internet connection and network settings.

 Note: Claude Code might not be available in your country. Check supported countries at
 https://anthropic.com/supported-countries
`, "Failed to connect to api.anthropic.com: ENOTFOUND"},
		"claude as root":     {"--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n", "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"},
		"claude's bad flag":  {"error: option '--permission-mode <mode>' argument 'manual' is invalid. Allowed choices are acceptEdits, auto, bypassPermissions, default, dontAsk, plan.\n", "error: option '--permission-mode <mode>' argument 'manual' is invalid. Allowed choices are acceptEdits, auto, bypassPermissions, default, dontAsk, plan."},
		"a shell":            {"/bin/sh: 1: claude: not found\n", "/bin/sh: 1: claude: not found"},
		"a node stack":       {"node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/x/cli.js'\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)\n    at node:internal/main/run_main_module:28:49 {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2\n", "Error: Cannot find module '/x/cli.js'"},
		"gemini by ACP":      {"Error: No previous sessions found for this project.\n{\n  code: -32603\n}\n", "Error: No previous sessions found for this project."},
		"a python traceback": {"Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    import nosuch\nModuleNotFoundError: No module named 'nosuch'\n", "ModuleNotFoundError: No module named 'nosuch'"},
		"clap":               {"error: unexpected argument '--frobnicate' found\n\n  tip: to pass '--frobnicate' as a value, use '-- --frobnicate'\n\nUsage: codex [OPTIONS] [PROMPT]\n\nFor more information, try '--help'.\n", "error: unexpected argument '--frobnicate' found"},
		"a rust panic":       {"thread 'main' panicked at src/main.rs:4:5:\nno terminal\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n", "thread 'main' panicked at src/main.rs:4:5:"},
		"a go panic":         {"panic: runtime error: index out of range [1] with length 1\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:5 +0x1d\nexit status 2\n", "panic: runtime error: index out of range [1] with length 1"},
		"git":                {"fatal: not a git repository (or any of the parent directories): .git\n", "fatal: not a git repository (or any of the parent directories): .git"},
		"npm":                {"npm error code ENOENT\nnpm error syscall open\nnpm error A complete log of this run can be found in: /root/.npm/_logs/x.log\n", "npm error code ENOENT"},
		"no word of failure": {"starting\nbye\n\n}\n", "bye"},
		"two errors":         {"error: first\nerror: second\n", "error: second"},
		"nothing":            {" \n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := textfmt.ErrorLine(test.output); got != test.want {
				t.Errorf("quoted is %q, want %q", got, test.want)
			}
		})
	}
}
