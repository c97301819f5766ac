package proc

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		name string
		comm string
		argv []string
		want string // names, one word each
		no   string
	}{
		{"comm", "claude", nil, "claude", "claud laude claude2 Claude"},
		{"comm is a path", "/opt/bin/codex", nil, "codex", "opt bin"},
		{"argv0", "2.1.29", []string{"/usr/local/bin/claude", "--x"}, "claude 2.1.29", "--x local"},
		{"wanted name is a path", "x", []string{"claude"}, "/opt/claude", "/opt/claud"},
		{"login shell", "bash", []string{"-bash"}, "bash", "-bash"},
		{"node script", "MainThread", []string{"node", "/usr/bin/copilot"}, "node MainThread copilot", "bin"},
		{"node script with extension", "node", []string{"/usr/bin/node", "--max-old-space-size=99", "/a/gemini.js", "codex"}, "gemini gemini.js node", "codex"},
		{"node preload", "node", []string{"node", "-r", "hook", "--import", "x.mjs", "agent.mjs"}, "agent", "hook x"},
		{"node program text", "node", []string{"node", "-e", "pi", "pi"}, "node", "pi"},
		{"bun run", "bun", []string{"bun", "run", "--silent", "opencode.ts"}, "opencode bun", "run"},
		{"bun x", "bun", []string{"bun", "x", "pi"}, "pi", "x"},
		{"script named run", "bun", []string{"bun", "run", "run"}, "run bun", ""},
		{"deno", "deno", []string{"deno", "run", "-A", "tool.ts"}, "tool", "run -A"},
		{"npx with version", "node", []string{"npx", "-y", "@google/gemini-cli@0.61.0"}, "gemini-cli", "google gemini"},
		{"npx with package", "node", []string{"npx", "-p", "pkg", "cmd"}, "cmd", "pkg"},
		{"python script", "python3.12", []string{"/usr/bin/python3.12", "-u", "/opt/aider.py"}, "aider python3.12", "python"},
		{"python module", "python3", []string{"python3", "-m", "aider", "x"}, "aider", "x -m"},
		{"python text", "python3", []string{"python3", "-c", "claude"}, "python3", "claude"},
		{"shell script", "sh", []string{"sh", "-e", "/x/agent.sh"}, "agent agent.sh sh", "x"},
		{"shell text", "sh", []string{"sh", "-lc", "claude"}, "sh", "claude"},
		{"shell options", "bash", []string{"bash", "-o", "pipefail", "claude"}, "claude", "pipefail"},
		{"not an interpreter", "vim", []string{"vim", "claude"}, "vim", "claude"},
		{"pythonic name", "x", []string{"pythonista", "claude"}, "pythonista", "claude python"},
		{"nothing known", "", nil, "", "claude . /"},
		{"empty argv0", "x", []string{""}, "x", "."},
		{"name with dots", "x", []string{"/opt/my.agent"}, "my.agent", "my agent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := Info{Comm: tt.comm}
			for name := range strings.FieldsSeq(tt.want) {
				if !Match(info, tt.argv, []string{"nobody", name}) {
					t.Errorf("%q %q does not match %q", tt.comm, tt.argv, name)
				}
			}
			for name := range strings.FieldsSeq(tt.no) {
				if Match(info, tt.argv, []string{name, ""}) {
					t.Errorf("%q %q matches %q", tt.comm, tt.argv, name)
				}
			}
		})
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("node", "-r", "x", "y")
	f.Add("", "", "", "")
	f.Fuzz(func(t *testing.T, a, b, c, comm string) {
		if Match(Info{Comm: comm}, []string{a, b, c}, nil) {
			t.Error("matches without a name")
		}
		Match(Info{Comm: comm}, []string{a, b, c}, []string{b, c})
	})
}
