package config

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed template.toml
var templateText string

// shellAgent is the text of the agent in a new city for which no agent CLI was named: it runs a
// shell.
const shellAgent = `# An agent: here a shell. ` + "`gc start`" + ` runs it, ` + "`gc attach worker`" + ` shows it,
# ` + "`gc send worker \"ls\"`" + ` types into it.
[[agents]]
name = "worker"
start_command = "bash --norc -i"
ready_prompt_prefix = "$ "
process_names = ["bash"]
env = { PS1 = "$ " }

# An agent CLI that gc knows needs only its name (gc agent-cli list shows them)
# and the permission mode. Without permission_mode it uses tools without asking:
# [[agents]]
# name = "coder"
`

// unguarded is the text with the key unguarded of [guard], for a new city whose agents all cannot
// ask gc before they use a tool. heldNote is the comment about that key in a city in which some
// agents can ask.
const (
	unguarded = `# A program that cannot ask gc before it uses a tool, like %s below,
# gets prompts all the same. Remove this line when every agent can ask.
unguarded = "report"
`
	heldNote = `# %s below cannot ask gc before it uses a tool, so it gets no prompts.
# This key gives them to it anyway:
# unguarded = "report"
`
)

// Starter is what the text of a new city.toml depends on.
type Starter struct {
	City   string
	Agents []StarterAgent // empty: the agent is a shell
	// Example is an agent that is written as a comment below the shell.
	Example StarterAgent
}

// StarterAgent is an agent of a new city that runs an agent CLI.
type StarterAgent struct {
	Name     string
	Provider string            // the agent CLI
	Mode     string            // the permission mode in which it asks a person; empty if there is none
	Env      map[string]string // the variables that make it ask, if there is no such mode
	Asks     bool              // it asks a person before it uses a tool
	Hooks    bool              // it can ask gc before it uses a tool
}

// Template returns the text of a new city.toml, with comments that explain it.
func Template(s Starter) string {
	lapse := ""
	var agents strings.Builder
	note := unguarded
	if slices.ContainsFunc(s.Agents, func(a StarterAgent) bool { return a.Hooks }) {
		note = heldNote
	}
	for _, a := range s.Agents {
		if !a.Hooks {
			lapse = fmt.Sprintf(note, a.Name)
		}
		agents.WriteString("[[agents]]\nname = " + QuoteTOML(a.Name) + "\n" + a.keys() + "\n")
	}
	if len(s.Agents) == 0 {
		lapse = fmt.Sprintf(unguarded, "the shell")
		agents.WriteString(shellAgent)
		for line := range strings.Lines(s.Example.keys()) {
			agents.WriteString("# " + line)
		}
	}
	text := strings.NewReplacer(`"NAME"`, QuoteTOML(s.City), "UNGUARDED\n", lapse+"\n", "AGENTS", agents.String()).Replace(templateText)
	return strings.TrimRight(text, "\n") + "\n"
}

// asksNote is the comment above the key that makes an agent ask.
const asksNote = "# It asks a person before it uses a tool, see: gc pending\n"

// keys returns the lines of city.toml with the keys of the agent, except its name.
func (a StarterAgent) keys() string {
	var b strings.Builder
	fmt.Fprintf(&b, "provider = %s\n", QuoteTOML(a.Provider))
	switch {
	case a.Mode != "":
		fmt.Fprintf(&b, "%spermission_mode = %s\n", asksNote, QuoteTOML(a.Mode))
	case !a.Asks:
		b.WriteString("# gc knows no mode in which this agent CLI asks a person before it uses a tool.\n")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		fmt.Fprintf(&b, "%senv.%s = %s\n", asksNote, name, QuoteTOML(a.Env[name]))
	}
	return b.String()
}
