package config

import (
	"maps"
	"slices"
	"time"
)

// Guard is the [guard] section: which tools agents may use, and how. Without this section,
// everything is allowed.
type Guard struct {
	Keys
	RuleSources
	Disable    []string             `toml:"disable" doc:"Ids of rules that do not apply."`
	AskTimeout time.Duration        `toml:"ask_timeout" default:"1m" doc:"How long a person may take to allow a call that a rule asks about. After that the call is denied."`
	Unguarded  UnguardedPolicy      `toml:"unguarded" default:"hold" doc:"What happens to a session whose worker has not shown that it asks gc before it uses a tool. hold: it gets no prompts; report: it gets them anyway."`
	OnBypass   GuardBypass          `toml:"on_bypass" default:"stop" doc:"What happens to a session that ran a denied tool. stop: it is suspended until a person resumes it; interrupt: its turn is interrupted; report: gc only reports it."`
	Roles      map[string]GuardRole `toml:"roles" doc:"Additional rules for some roles. The first pattern in the file that matches an agent's role or name counts."`
	Rules      []GuardRule          `toml:"rules" doc:"Rules of this city."`
}

// GuardRole is a [guard.roles.<pattern>] section: additional rules for the agents whose role or
// name matches the pattern.
type GuardRole struct {
	Keys
	RuleSources
}

// RuleSources has the keys that say where rules come from.
type RuleSources struct {
	Sets    []string    `toml:"sets" doc:"Built-in rule sets."`
	Files   []string    `toml:"files" doc:"Files with rules, TOML; relative to the city."`
	Default GuardAction `toml:"default" doc:"What happens to a call that no rule matches. Default: the most severe default of the sets and files, else allow."`
}

// GuardRule is a [[guard.rules]] section: one rule of the guard.
type GuardRule struct {
	Keys
	ID       string      `toml:"id" doc:"The rule's name; unique."`
	Action   GuardAction `toml:"action" doc:"What happens to a call that the rule matches."`
	Reason   string      `toml:"reason" doc:"Shown to the agent and to people."`
	Tools    []string    `toml:"tools" doc:"Patterns of tool names. Without patterns: every tool."`
	Roles    []string    `toml:"roles" doc:"Patterns of roles. Without patterns: every role."`
	Agents   []string    `toml:"agents" doc:"Patterns of agent names. Without patterns: every agent."`
	Commands []string    `toml:"commands" doc:"Patterns of a program and its first words, for example git push."`
	Any      []string    `toml:"any" doc:"One of these must be among the words: an option (-f|--force, also in -uf and --force=x) or a pattern of an argument (+*)."`
	All      []string    `toml:"all" doc:"Each of these must be among the words."`
	None     []string    `toml:"none" doc:"None of these may be among the words."`
	Exact    []string    `toml:"exact" doc:"Whole commands, or files of a tool, exactly as the call has them. The rule allows these calls although other rules ask; it changes no denial."`
	Paths    []string    `toml:"paths" doc:"Patterns of files: **/.env, ~/.ssh/**. With commands: of their arguments."`
	Access   GuardAccess `toml:"access" doc:"Only files that are read, or only files that are written. Default: both."`
}

// GuardAction says what happens to a call of a tool that a rule matches.
type GuardAction string

// The actions.
const (
	GuardAllow GuardAction = "allow"
	GuardAsk   GuardAction = "ask"
	GuardDeny  GuardAction = "deny"
)

// Words returns the values that a GuardAction may have in city.toml.
func (GuardAction) Words() []string { return texts(GuardAllow, GuardAsk, GuardDeny) }

// GuardAccess says which use of a file a rule is about: reading or writing it.
type GuardAccess string

// Words returns the values that a GuardAccess may have in city.toml.
func (GuardAccess) Words() []string { return []string{"read", "write"} }

// UnguardedPolicy says what happens to a session whose worker has not shown that it asks gc before
// it uses a tool.
type UnguardedPolicy string

// The policies. The session gets no prompts, or gc only reports it.
const (
	UnguardedHold   UnguardedPolicy = "hold"
	UnguardedReport UnguardedPolicy = "report"
)

// Words returns the values that a UnguardedPolicy may have in city.toml.
func (UnguardedPolicy) Words() []string { return texts(UnguardedHold, UnguardedReport) }

// GuardBypass says what happens to a session that used a tool although gc denied it.
type GuardBypass string

// Words returns the values that a GuardBypass may have in city.toml.
func (GuardBypass) Words() []string { return []string{"stop", "interrupt", "report"} }

// Guarded reports whether the city has a [guard] section.
func (c *City) Guarded() bool { return c.Has("guard") }

// Patterns returns the patterns of the [guard.roles.<pattern>] sections in the order of the file.
func (g *Guard) Patterns() []string {
	names := slices.Sorted(maps.Keys(g.Roles))
	slices.SortStableFunc(names, func(a, b string) int { return g.Roles[a].at.offset - g.Roles[b].at.offset })
	return names
}

// guard checks the [guard] table with its roles and rules.
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
		if r.ID != "" {
			c.unique(seen, r.Origin("id"), "rules with the id", r.ID)
		}
	}
}

// ruleSources checks that the rule sets and the files with rules exist.
func (c *checker) ruleSources(keys Keys, s RuleSources) {
	for i, name := range s.Sets {
		if c.catalog.RuleSets != nil && !slices.Contains(c.catalog.RuleSets, name) {
			c.fail(keys.ItemOrigin("sets", i), suggest(name, c.catalog.RuleSets), "there is no rule set %q", name)
		}
	}
	for i, path := range s.Files {
		at := keys.ItemOrigin("files", i)
		if path == "" {
			c.fail(at, "remove it, or write the path", "files contains an empty path")
		}
		c.file(at, "a file of rules", path)
	}
}

// ErrorIn returns a mistake without a message, at a position in another file than city.toml. source
// is the text of that file. If line is less than 1, the mistake is about the whole file.
func ErrorIn(file string, source []byte, line, column int) *Error {
	if line < 1 {
		return &Error{File: file}
	}
	return locate(source, originAt(file, source, offsetOf(source, line, column)))
}
