package config

import (
	"bytes"
	"path/filepath"
	"strings"
)

// City is the configuration of one city: the content of its city.toml.
type City struct {
	Keys
	Path string `toml:"-"` // the path of city.toml, as given to [Load]
	Root string `toml:"-"` // the city directory, absolute

	Workspace   Workspace             `toml:"workspace" doc:"The city as a whole."`
	Session     Session               `toml:"session" doc:"How sessions run."`
	Daemon      Daemon                `toml:"daemon" doc:"The controller."`
	Delivery    Delivery              `toml:"delivery" doc:"How prompts are delivered."`
	Guard       Guard                 `toml:"guard" doc:"What agents may do with their tools. Without this section everything is allowed."`
	Providers   map[string]Provider   `toml:"providers" doc:"Agent CLIs: new ones, and changes of the built-in ones."`
	Upstreams   map[string]Upstream   `toml:"upstreams" doc:"Services that provide the model."`
	Credentials map[string]Credential `toml:"credentials" doc:"Credentials that gc renews and keeps only in memory."`
	Usage       Usage                 `toml:"usage" doc:"Token prices and usage budgets."`
	Web         Web                   `toml:"web" doc:"The web console."`
	Top         Top                   `toml:"top" doc:"The terminal dashboard."`
	Notify      []Notify              `toml:"notify" doc:"Where notifications are sent when an agent needs you, has finished or has failed. docs/how-to/notifications.md has examples."`
	Rigs        []Rig                 `toml:"rigs" doc:"Folders outside the city that agents work in."`
	Agents      []Agent               `toml:"agents" alias:"agent" doc:"The agents. [[agent]] is the same."`

	// Notes are remarks about the file, for example about keys without effect.
	Notes []*Error `toml:"-"`
	// Faults are errors that prevent only one agent from running: its session key names a runtime
	// provider that does not exist.
	Faults []*Error `toml:"-"`

	source []byte
}

// Blank reports whether city.toml contains only white space.
func (c *City) Blank() bool { return len(bytes.TrimSpace(c.source)) == 0 }

// Workspace is the [workspace] section: settings that are for the whole city.
type Workspace struct {
	Keys
	Name              string   `toml:"name" doc:"The city's name; default: the name of its folder. It is part of every session's name."`
	Provider          string   `toml:"provider" doc:"The agent CLI of agents that name none."`
	StartCommand      string   `toml:"start_command" doc:"The shell command of agents that have neither a provider nor a start_command."`
	Suspended         bool     `toml:"suspended" doc:"No agent of the city runs."`
	SessionTemplate   string   `toml:"session_template" doc:"Go template of session names, with City, Agent, Dir and Name. Default: gc-{{.City}}-{{.Agent}}."`
	InstallAgentHooks []string `toml:"install_agent_hooks" doc:"Agent CLIs whose hooks and per-provider overlays every agent gets: only these, and [] for none. Default: the hooks of every known agent CLI."`
	PackOverlayDirs   []string `toml:"pack_overlay_dirs" doc:"Overlay folders for every agent, staged before the agent's own."`
	MaxActiveSessions *int     `toml:"max_active_sessions" doc:"The maximum number of running sessions of the city; further starts wait. A lower limit stops no session."`
}

// Rig is a folder outside the city that agents work in.
type Rig struct {
	Keys
	Name      string `toml:"name" doc:"The name that agents give in dir."`
	Path      string `toml:"path" doc:"The folder; relative to the city."`
	Suspended bool   `toml:"suspended" doc:"No agent of this rig runs."`
}

// Agent returns the agent with the qualified name; ok is false if there is none.
func (c *City) Agent(qualifiedName string) (*Agent, bool) {
	for i := range c.Agents {
		if c.Agents[i].QualifiedName() == qualifiedName {
			return &c.Agents[i], true
		}
	}
	return nil, false
}

// Rig returns the rig with the name; ok is false if there is none.
func (c *City) Rig(name string) (*Rig, bool) {
	for i := range c.Rigs {
		if c.Rigs[i].Name == name {
			return &c.Rigs[i], true
		}
	}
	return nil, false
}

// Abs returns the absolute path for a path in the configuration. A relative path, and one that
// begins with //, is inside the city directory. An empty path stays empty.
func (c *City) Abs(path string) string {
	if path == "" {
		return ""
	}
	if inside, ok := strings.CutPrefix(path, "//"); ok {
		return filepath.Join(c.Root, inside)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.Root, path)
}
