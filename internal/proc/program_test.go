package proc_test

import (
	"os"
	"path/filepath"
	"testing"

	"gascity/internal/proc"
)

func TestOf(t *testing.T) {
	for command, want := range map[string]string{
		"claude --flag x":        "claude",
		"exec claude":            "claude",
		"command nohup 'a b' c":  "a b",
		`"/opt/my agent" -x`:     "/opt/my agent",
		"cd /tmp && claude":      "",
		"echo hi":                "",
		"$AGENT --flag":          "",
		`"$HOME/bin/agent"`:      "",
		"exec -a name agent":     "",
		"while true; do x; done": "",
		"":                       "",
	} {
		if got, err := proc.FirstProgram(command); got != want || err != nil {
			t.Errorf("Of(%q) = %q, %v, want %q", command, got, err, want)
		}
	}
	if _, err := proc.FirstProgram("if then"); err == nil {
		t.Error("what is no shell command is no error")
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tool, text := write("tool", 0o700), write("text", 0o600)
	for _, c := range []struct {
		name, path, want, fails string
	}{
		{"tool", "/nowhere:" + dir, tool, ""},
		{"./tool", "", tool, ""},
		{tool, "", tool, ""},
		{"text", dir, "", "is not found"},
		{text, "", text, "is not executable"},
		{dir, "", dir, "is a folder"},
		{dir + "/none", "", dir + "/none", "does not exist"},
	} {
		got, err := proc.FindProgram(c.name, dir, c.path)
		if got != c.want || (err != nil) != (c.fails != "") || err != nil && err.Error() != c.fails {
			t.Errorf("Find(%q, %q) = %q, %v, want %q, %q", c.name, c.path, got, err, c.want, c.fails)
		}
	}
}
