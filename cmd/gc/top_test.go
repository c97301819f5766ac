package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"gascity/internal/cli"
	"gascity/internal/cli/cmdenv"
	"gascity/test/citytest"
)

// TestStartOfTop runs gc without a command in a terminal: it starts the dashboard, which the standard input of the test cannot show, unless
// city.toml has start = false. The command gc top does so in any case.
func TestStartOfTop(t *testing.T) {
	const agent = "[[agents]]\nname = \"worker\"\nstart_command = \"fake_agent\"\n"
	city := citytest.New(t, agent)
	run := func(args ...string) string {
		var out bytes.Buffer
		cli.Run(t.Context(), cli.Env{Args: args, Executable: os.Args[0], Daemon: newScriptDaemon(), Workers: workers{}, Env: cmdenv.Env{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Now: time.Now,
			IsTerminal: func(any) bool { return true }, Width: func() int { return 100 }, Height: func() int { return 30 }, Dir: city.Root, Version: "1.0",
		}})
		return out.String()
	}
	const dashboard, page = "gc top needs a terminal", "Commands: gc help"
	for _, step := range []struct {
		section string
		args    []string
		want    string
	}{
		{"", nil, dashboard}, {"[top]\nstart = true\n", nil, dashboard}, {"[top]\nstart = false\n", nil, page}, {"[top]\nstart = false\n", []string{"top"}, dashboard},
	} {
		city.Write(step.section + agent)
		if _, err := city.Client.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out := run(step.args...); !strings.Contains(out, step.want) {
			t.Errorf("gc %v with %q prints %q, want %q in it", step.args, step.section, out, step.want)
		}
	}
}
