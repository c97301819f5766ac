package config

import (
	"bytes"
	"path/filepath"
	"strings"
	"time"
)

// City is one city's configuration.
type City struct {
	Keys
	Path string `toml:"-"` // city.toml, as given to [Load]
	Root string `toml:"-"` // the city directory, absolute: that of Path

	Workspace     Workspace             `toml:"workspace" doc:"The city as a whole."`
	Session       Session               `toml:"session" doc:"How sessions run."`
	Daemon        Daemon                `toml:"daemon" doc:"The controller."`
	Delivery      Delivery              `toml:"delivery" doc:"How prompts are delivered."`
	Guard         Guard                 `toml:"guard" doc:"What agents may do with their tools. Without it everything."`
	Chat          ChatSessions          `toml:"chat_sessions" doc:"Sessions that people open by hand." later:"manual sessions"`
	Providers     map[string]Provider   `toml:"providers" doc:"Agent CLIs: new ones, and changes of those that gc knows."`
	Upstreams     map[string]Upstream   `toml:"upstreams" doc:"Who serves the model."`
	Credentials   map[string]Credential `toml:"credentials" doc:"Credentials that gc keeps fresh, in memory alone."`
	Usage         Usage                 `toml:"usage" doc:"What agents spend, and how much they may."`
	Rigs          []Rig                 `toml:"rigs" doc:"Folders outside the city that agents work in."`
	NamedSessions []NamedSession        `toml:"named_session" doc:"Sessions with fixed names." later:"named sessions"`
	Agents        []Agent               `toml:"agents" alias:"agent" doc:"The workers. [[agent]] is the same."`

	// Notes are remarks on what was read: keys that have no effect yet.
	Notes []*Error `toml:"-"`
	// Faults are mistakes that keep one agent from running, and no other: it names a
	// place to run at that is not there.
	Faults []*Error `toml:"-"`

	source []byte
}

// Blank reports whether there is nothing in the file but blanks.
func (c *City) Blank() bool { return len(bytes.TrimSpace(c.source)) == 0 }

// Workspace is the section of the city as a whole.
type Workspace struct {
	Keys
	Name              string   `toml:"name" doc:"The city's name; default: the name of its folder. It is part of every session's name."`
	Provider          string   `toml:"provider" doc:"The agent CLI of agents that name none."`
	StartCommand      string   `toml:"start_command" doc:"The shell command of agents that have neither a provider nor a start_command."`
	Suspended         bool     `toml:"suspended" doc:"No agent of the city is to run."`
	SessionTemplate   string   `toml:"session_template" doc:"Go template of session names, with City, Agent, Dir and Name. Default: gc-{{.City}}-{{.Agent}}."`
	InstallAgentHooks []string `toml:"install_agent_hooks" doc:"Agent CLIs whose hooks and per-provider overlays every agent gets: only these, and [] for none. Default: the hooks of every agent CLI that is known."`
	PackOverlayDirs   []string `toml:"pack_overlay_dirs" doc:"Overlay folders for every agent, staged before the agent's own."`
	MaxActiveSessions *int     `toml:"max_active_sessions" doc:"Most sessions of the city at any instant: starts beyond it wait. A lowered limit ends none."`

	Prefix             string   `toml:"prefix" doc:"Prefix of work items." later:"work items"`
	GlobalFragments    []string `toml:"global_fragments" doc:"Prompt fragments of every agent." later:"prompt fragments"`
	Includes           []string `toml:"includes" doc:"Packs of the city." later:"packs"`
	DefaultRigIncludes []string `toml:"default_rig_includes" doc:"Packs of every rig." later:"packs"`
}

// ChatSessions is the section of sessions that people open by hand.
type ChatSessions struct {
	Keys
	IdleTimeout time.Duration `toml:"idle_timeout" doc:"Idle time after which one is put to sleep." later:"manual sessions"`
}

// Rig is a folder outside the city that agents work in.
type Rig struct {
	Keys
	Name      string   `toml:"name" doc:"The name that agents give in dir."`
	Path      string   `toml:"path" doc:"The folder; relative to the city."`
	Suspended bool     `toml:"suspended" doc:"No agent of this rig is to run."`
	Prefix    string   `toml:"prefix" doc:"Prefix of work items." later:"work items"`
	Includes  []string `toml:"includes" doc:"Packs of the rig." later:"packs"`
}

// NamedSession is a session with a fixed name.
type NamedSession struct {
	Keys
	Name     string           `toml:"name" doc:"The session's name." later:"named sessions"`
	Template string           `toml:"template" doc:"The agent that it is made from." later:"named sessions"`
	Scope    Scope            `toml:"scope" doc:"City or rig." later:"named sessions"`
	Dir      string           `toml:"dir" doc:"Its rig or folder." later:"named sessions"`
	Mode     NamedSessionMode `toml:"mode" doc:"Always running, or on demand." later:"named sessions"`
}

// Agent returns the agent of that qualified name.
func (c *City) Agent(qualifiedName string) (*Agent, bool) {
	for i := range c.Agents {
		if c.Agents[i].QualifiedName() == qualifiedName {
			return &c.Agents[i], true
		}
	}
	return nil, false
}

// Rig returns the rig of that name.
func (c *City) Rig(name string) (*Rig, bool) {
	for i := range c.Rigs {
		if c.Rigs[i].Name == name {
			return &c.Rigs[i], true
		}
	}
	return nil, false
}

// Abs returns a path of the configuration as an absolute one: relative paths
// and paths that begin with // are inside the city. An empty path stays empty.
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
