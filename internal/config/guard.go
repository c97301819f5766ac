package config

import (
	"maps"
	"slices"
	"time"
)

// Guard is the section of what agents may do with their tools. A city without it
// allows everything.
type Guard struct {
	Keys
	RuleSources
	Disable    []string             `toml:"disable" doc:"Ids of rules that are not wanted."`
	AskTimeout time.Duration        `toml:"ask_timeout" default:"1m" doc:"How long a person has to allow a call that a rule asks about. Then it is denied."`
	Unguarded  UnguardedPolicy      `toml:"unguarded" default:"hold" doc:"What happens to a session whose worker has not shown that it asks before it uses a tool: it gets no prompts, or gets them anyway."`
	OnBypass   GuardBypass          `toml:"on_bypass" default:"stop" doc:"What happens to a session that ran a tool which was denied: it is suspended until a person resumes it, its turn is ended, or gc only reports it."`
	Roles      map[string]GuardRole `toml:"roles" doc:"What holds for some roles beside the rest. The first pattern in the file that fits an agent's role or name counts."`
	Rules      []GuardRule          `toml:"rules" doc:"Rules of this city."`
}

// GuardRole is a [guard.roles.<pattern>] section: what holds for the agents whose
// role or name fits the pattern, beside the rest.
type GuardRole struct {
	Keys
	RuleSources
}

// RuleSources say where rules come from.
type RuleSources struct {
	Sets    []string    `toml:"sets" doc:"Rule sets that come with gc."`
	Files   []string    `toml:"files" doc:"Files with rules, TOML; relative to the city."`
	Default GuardAction `toml:"default" doc:"What happens to a call that no rule is about. Default: the most severe one of the sets and files that have one, else allow."`
}

// GuardRule is a [[guard.rules]] section.
type GuardRule struct {
	Keys
	ID       string      `toml:"id" doc:"Its name, unique."`
	Action   GuardAction `toml:"action" doc:"What happens."`
	Reason   string      `toml:"reason" doc:"Shown to the agent and to people."`
	Tools    []string    `toml:"tools" doc:"Patterns of tool names. None is every tool."`
	Roles    []string    `toml:"roles" doc:"Patterns of roles. None is every role."`
	Agents   []string    `toml:"agents" doc:"Patterns of agent names. None is every agent."`
	Commands []string    `toml:"commands" doc:"A program and the first of its words: git push. Patterns."`
	Any      []string    `toml:"any" doc:"One of these must be among the words: an option (-f|--force, also in -uf and --force=x) or a pattern of an argument (+*)."`
	All      []string    `toml:"all" doc:"Each of these must be among the words."`
	None     []string    `toml:"none" doc:"None of these may be among the words."`
	Paths    []string    `toml:"paths" doc:"Patterns of files: **/.env, ~/.ssh/**. With commands: of their arguments."`
	Access   GuardAccess `toml:"access" doc:"Only files that are used so. Default: both."`
}

// GuardAction is what happens to a call.
type GuardAction string

// The actions.
const (
	GuardAllow GuardAction = "allow"
	GuardAsk   GuardAction = "ask"
	GuardDeny  GuardAction = "deny"
)

// Words lists the allowed values.
func (GuardAction) Words() []string {
	return []string{string(GuardAllow), string(GuardAsk), string(GuardDeny)}
}

// GuardAccess is how a file is used.
type GuardAccess string

// Words lists the allowed values.
func (GuardAccess) Words() []string { return []string{"read", "write"} }

// UnguardedPolicy is what happens to a session that does not ask.
type UnguardedPolicy string

// What may become of it.
const (
	UnguardedHold   UnguardedPolicy = "hold"
	UnguardedReport UnguardedPolicy = "report"
)

// Words lists the allowed values.
func (UnguardedPolicy) Words() []string {
	return []string{string(UnguardedHold), string(UnguardedReport)}
}

// GuardBypass is what happens to a session that ran what was denied.
type GuardBypass string

// Words lists the allowed values.
func (GuardBypass) Words() []string { return []string{"stop", "interrupt", "report"} }

// Guarded reports whether the city has a guard at all.
func (c *City) Guarded() bool { return c.Has("guard") }

// Patterns returns the roles of the guard in the order of the file.
func (g *Guard) Patterns() []string {
	names := slices.Sorted(maps.Keys(g.Roles))
	slices.SortStableFunc(names, func(a, b string) int { return g.Roles[a].at.offset - g.Roles[b].at.offset })
	return names
}

func (c *checker) guard() {
	g := &c.city.Guard
	c.positive(g.Keys, "ask_timeout", int64(g.AskTimeout))
	c.ruleSources(g.Keys, g.RuleSources)
	for _, pattern := range g.Patterns() {
		role := g.Roles[pattern]
		c.ruleSources(role.Keys, role.RuleSources)
	}
	seen := map[string]Origin{}
	for i := range g.Rules {
		r := &g.Rules[i]
		for _, key := range []string{"id", "action"} {
			if !r.Has(key) {
				c.fail(r.Header(), "add "+key+" = \"...\"", "a rule of the guard has no %s", key)
			}
		}
		if first, ok := seen[r.ID]; ok && r.ID != "" {
			c.fail(r.Origin("id"), "the first one is at "+first.String(), "there are two rules %q", r.ID)
		}
		seen[r.ID] = r.Origin("id")
	}
}

func (c *checker) ruleSources(keys Keys, s RuleSources) {
	for i, name := range s.Sets {
		if c.catalog.RuleSets != nil && !slices.Contains(c.catalog.RuleSets, name) {
			c.fail(keys.ItemOrigin("sets", i), suggest(name, c.catalog.RuleSets), "there is no rule set %q", name)
		}
	}
	for i, path := range s.Files {
		at := keys.ItemOrigin("files", i)
		if path == "" {
			c.fail(at, "", "files holds an empty path")
		}
		c.file(at, "a file of rules", path)
	}
}

// ErrorIn returns an error at a line of another file than the city's, whose text
// is source.
func ErrorIn(file string, source []byte, line, column int) *Error {
	if line < 1 {
		return &Error{File: file}
	}
	e := locate(source, originAt(file, source, offsetOf(source, line, column)))
	e.File = file
	return &e
}
