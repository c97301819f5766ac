package agentcli

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated page")

const pageHead = `# Agent CLIs that gc knows

Generated from internal/agentcli/profiles; do not edit. The name is the value of ` + "`provider`" + ` in ` + "`[[agents]]`" + `. ` + "`gc agent-cli list`" + `
shows which of them are installed on this machine, and in which version. Where an agent runs is another thing: the
[runtime providers](providers/README.md).

- *tested*: the versions that gc was tested with. What was measured with them is in [agents.md](agents.md). Another version may
  work; "-" means that what gc knows was never tried.
- *default mode*: the ` + "`permission_mode`" + ` of an agent that names none. ` + "`unrestricted`" + ` skips all permission questions.
- *asking mode*: the mode in which it asks a person before it uses a tool that changes something. ` + "`gc init --provider NAME`" + ` writes it.
  If it is an environment variable, that command writes it into ` + "`env`" + `; "none" means that gc knows no such mode.
- *hooks*: gc hears of its turns and tools by its hooks, and can check each tool before it is used (` + "`[guard]`" + `).

| name | program | tested | default mode | asking mode | all modes | hooks |
|---|---|---|---|---|---|---|
`

// page returns the content of docs/reference/agent-clis.md.
func page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, name := range Builtin().Names() {
		p, _ := Builtin().Lookup(name)
		asking := cmp.Or(p.AskingMode, strings.Join(slices.Sorted(maps.Keys(p.AskingEnv)), ", "))
		if asking == "" && p.SkipsPermissions("", nil) {
			asking = "none"
		}
		hooks := ""
		if p.SupportsHooks {
			hooks = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", name, code(p.Command), cmp.Or(p.TestedRange(), "-"), code(p.PermissionMode),
			cmp.Or(code(asking), "its own default"), code(sortedKeys(p.PermissionModes)...), cmp.Or(hooks, "-"))
	}
	b.WriteString("\n`generic` is any other program: its agent needs `start_command`. [providers.NAME] in city.toml changes a profile or adds one.\n")
	return b.String()
}

// code returns words as Markdown code; "-" if there are none.
func code(words ...string) string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, "`"+w+"`")
		}
	}
	return cmp.Or(strings.Join(out, " "), "-")
}

// TestThePageOfProfilesIsCurrent compares docs/reference/agent-clis.md with the profiles.
func TestThePageOfProfilesIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "agent-clis.md")
	if *update {
		if err := os.WriteFile(path, []byte(page()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != page() {
		t.Errorf("docs/reference/agent-clis.md is out of date, run make gen")
	}
}
