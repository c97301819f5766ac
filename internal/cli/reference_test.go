package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

var update = flag.Bool("update", false, "write the generated reference")

// testRoot returns the command tree of a program that does nothing.
func testRoot() *cobra.Command { return newRoot(&app{workers: noWorkers{}}) }

func TestReferenceIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "cli.md")
	want := referenceOf(testRoot())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/cli.md is out of date, run make gen (-want +got):\n%s", diff)
	}
}

// every walks all commands, hidden ones too.
func every(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		every(sub, visit)
	}
}

func TestEveryCommandIsDescribed(t *testing.T) {
	every(testRoot(), func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		switch {
		case cmd.Hidden:
			return
		case cmd.Short == "":
			t.Errorf("%s has no description", name)
		case strings.HasSuffix(cmd.Short, "."):
			t.Errorf("the description of %s ends with a full stop", name)
		case cmd.Args == nil:
			t.Errorf("%s does not check its arguments", name)
		case cmd.Long == "" && (!cmd.HasParent() || !cmd.Parent().Hidden):
			t.Errorf("%s has no long description", name)
		case cmd.Example == "" && cmd.HasParent() && !cmdenv.IsGroup(cmd) && !cmd.Parent().Hidden:
			t.Errorf("%s has no example", name)
		}
		for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
			if len([]rune(line)) > 105 {
				t.Errorf("a line of %s is too long for a terminal: %q", name, line)
			}
		}
	})
}

// TestEveryCommandHasScripts demands that each command is run in a script at
// least once with success and once without.
func TestEveryCommandHasScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "cmd", "gc", "testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d scripts, %v", len(files), err)
	}
	var lines []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	ran := func(prefixes ...string) bool {
		for _, line := range lines {
			for _, prefix := range prefixes {
				if strings.HasPrefix(line, prefix) {
					return true
				}
			}
		}
		return false
	}
	every(testRoot(), func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		if cmd.Hidden || cmdenv.IsGroup(cmd) || !cmd.HasParent() || cmd.Name() == "help" || cmd.HasParent() && cmd.Parent().Hidden {
			return
		}
		if !ran("exec " + name) {
			t.Errorf("no script runs %s with success", name)
		}
		if cmd.Name() == "schema" {
			return // it has no argument and no way to fail but usage
		}
		var failures []string
		for _, status := range []string{"1", "2", "3", "4", "5", "6"} {
			failures = append(failures, "status "+status+" "+name)
		}
		if !ran(append(failures, "! exec "+name)...) {
			t.Errorf("no script lets %s fail", name)
		}
	})
}
