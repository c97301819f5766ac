package cityconfig

import (
	"fmt"
	"strings"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/config"
)

// Starter returns the text of city.toml for a new city with one agent for each named agent CLI.
// Each agent has the permission mode in which its agent CLI asks a person. Without names, the city
// has one agent that runs a shell.
func Starter(city string, providers []string) ([]byte, error) {
	profiles := agentcli.Builtin()
	starter := config.Starter{City: city}
	for _, name := range providers {
		if _, ok := profiles.Lookup(name); !ok || name == agentcli.Generic {
			return nil, fmt.Errorf("%w: %s", client.ErrNotFound, unknownCLI(name))
		}
		agent := starterAgent(profiles, name)
		if agent.Name = name; len(providers) == 1 {
			agent.Name = "coder"
		}
		starter.Agents = append(starter.Agents, agent)
	}
	for _, name := range profiles.Names() {
		if p, _ := profiles.Lookup(name); p.AskingMode != "" && len(p.Tested) > 0 {
			starter.Example = starterAgent(profiles, name)
			break
		}
	}
	return []byte(config.Template(starter)), nil
}

// starterAgent returns the agent of a new city for one agent CLI, in the mode in which the CLI asks a person. A CLI without such
// a mode may skip permissions: then Asks is false.
func starterAgent(profiles *agentcli.Set, name string) config.StarterAgent {
	p, _ := profiles.Lookup(name)
	_, hooked := agentcli.LookupHooks(p.Family)
	a := config.StarterAgent{Provider: name, Mode: p.AskingMode, Env: p.AskingEnv, Hooks: hooked && p.SupportsHooks}
	a.Asks = !p.SkipsPermissions(a.Mode, a.Env)
	return a
}

// unknownCLI returns the message that gc has no profile for an agent CLI. It suggests a similar
// name and lists the known ones.
func unknownCLI(name string) string {
	profiles := agentcli.Builtin()
	words := fmt.Sprintf("there is no agent CLI %q", name)
	if near := profiles.Suggest(name); near != "" {
		words += fmt.Sprintf("; did you mean %q?", near)
	}
	return words + "; known: " + strings.Join(profiles.Names(), ", ")
}
