package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gascity/internal/cli/cmdenv"
)

// withoutJSON are the commands that print no data of their own, with the reason.
var withoutJSON = map[string]string{
	"gc":                "it shows the city and the help",
	"gc attach":         "it is a terminal",
	"gc acp":            "it speaks a protocol",
	"gc hook run":       "it speaks a protocol",
	"gc controller run": "it logs",
	"gc top":            "it is for people; programs read gc status -w --json and gc events --follow --json",
	"gc help":           "it is the help",
}

// TestEveryCommandPrintsJSON walks the commands: each that prints has --json, and a script runs it and
// checks that standard output has JSON objects and nothing else.
func TestEveryCommandPrintsJSON(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("..", "..", "cmd", "gc", "testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var lines []string
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	every(testRoot(), func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		if cmd.Hidden || cmd.HasParent() && cmd.Parent().Hidden || cmdenv.IsGroup(cmd) {
			return
		}
		has := cmd.Flags().Lookup("json") != nil
		switch _, free := withoutJSON[name]; {
		case free && has:
			t.Errorf("%s has --json and is listed as a command without it", name)
		case free:
			return
		case !has:
			t.Errorf("%s has no --json", name)
			return
		}
		for i, line := range lines[1:] {
			_, command, ok := strings.Cut(lines[i], " "+name+" ")
			if ok && slices.Contains(strings.Fields(command), "--json") && !names(cmd, command) && strings.HasPrefix(line, "object stdout") {
				return
			}
		}
		t.Errorf("no script runs %s with --json and checks its output in the next line with: object stdout", name)
	})
}

// names reports whether arguments begin with a command below cmd.
func names(cmd *cobra.Command, args string) bool {
	first, _, _ := strings.Cut(args, " ")
	return slices.ContainsFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.Name() == first })
}

// TestJSONIsSaidAlike: the flag has one description.
func TestJSONIsSaidAlike(t *testing.T) {
	every(testRoot(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "json" && f.Usage != "print JSON" {
				t.Errorf("%s says of --json: %s", cmd.CommandPath(), f.Usage)
			}
		})
	})
}
