package guard

// Rule defines the action for the calls that it matches. A rule with Commands is about programs,
// one with Paths and without Commands about files, one with neither about the tool as a whole. One
// with Exact is about whole calls, see [Policy.exempt].
type Rule struct {
	ID     string `toml:"id" json:"id" doc:"The rule's name; unique."`
	Action Action `toml:"action" json:"action" doc:"allow, ask or deny."`
	Reason string `toml:"reason" json:"reason,omitempty" doc:"Shown to the agent and to people."`

	Tools  []string `toml:"tools" json:"tools,omitempty" doc:"Patterns of tool names; without patterns: every tool."`
	Roles  []string `toml:"roles" json:"roles,omitempty" doc:"Patterns of roles; without patterns: every role."`
	Agents []string `toml:"agents" json:"agents,omitempty" doc:"Patterns of agent names; without patterns: every agent."`

	Commands []string `toml:"commands" json:"commands,omitempty" doc:"Patterns of a program and its first words, for example \"git push\"."`
	Any      []string `toml:"any" json:"any,omitempty" doc:"One of these must be among the words: an option (-f|--force, also in -uf and --force=x) or a pattern of an argument (+*)."`
	All      []string `toml:"all" json:"all,omitempty" doc:"Each of these must be among the words."`
	None     []string `toml:"none" json:"none,omitempty" doc:"None of these may be among the words."`

	Exact []string `toml:"exact" json:"exact,omitempty" doc:"Whole commands, or files of a tool, exactly as the call has them. The rule allows these calls although other rules ask; it changes no denial."`

	Paths  []string `toml:"paths" json:"paths,omitempty" doc:"Patterns of files: **/.env, ~/.ssh/**. With commands: of their arguments."`
	Access Access   `toml:"access" json:"access,omitempty" doc:"read or write: only files that are known to be read, or written: by a redirection, by a tool, or as the source or the target of cp, mv, install and ln. Empty: both."`

	Line int `toml:"-" json:"line,omitempty"` // of its table in its file; zero: unknown
}

// Access states how a file is used.
type Access string

// The ways to use a file. An unknown use may be either.
const (
	Read  Access = "read"
	Write Access = "write"
)

// Set is a named collection of rules.
type Set struct {
	Name    string `toml:"name" json:"name" doc:"The set's name, for messages. Default: the name of the file."`
	Summary string `toml:"summary" json:"summary,omitempty" doc:"One line for people."`
	Default Action `toml:"default" json:"default,omitempty" doc:"The action for calls that no rule matches. If several sets have a default, the strictest of them counts; if none has: allow. A default in city.toml has priority."`
	Rules   []Rule `toml:"rules" json:"rules"`

	File string `toml:"-" json:"file,omitempty"` // the file of the set; empty: a built-in set
}

// Source is a policy before it is checked: the sets for all agents and those for roles.
type Source struct {
	Default Action // for calls that no rule matches; empty: the most severe default of the sets, else allow
	Sets    []Set
	Roles   []RoleSource
	Disable []string // ids of disabled rules
}

// RoleSource contains the additional sets for a role.
type RoleSource struct {
	Role    string // pattern of roles and agents
	Default Action // empty: that of its sets, else that of the source
	Sets    []Set
}
