package guard

// Rule says what happens to the calls that it fits. A rule with Commands is about
// programs, one with Paths and without Commands about files, one with neither about
// the tool as a whole.
type Rule struct {
	ID     string `toml:"id" json:"id" doc:"Its name, unique."`
	Action Action `toml:"action" json:"action" doc:"allow, ask or deny."`
	Reason string `toml:"reason" json:"reason,omitempty" doc:"Shown to the agent and to people."`

	Tools  []string `toml:"tools" json:"tools,omitempty" doc:"Patterns of tool names; none is every tool."`
	Roles  []string `toml:"roles" json:"roles,omitempty" doc:"Patterns of roles; none is every role."`
	Agents []string `toml:"agents" json:"agents,omitempty" doc:"Patterns of agent names; none is every agent."`

	Commands []string `toml:"commands" json:"commands,omitempty" doc:"A program and the first of its words: \"git push\". It may be a pattern."`
	Any      []string `toml:"any" json:"any,omitempty" doc:"One of these must be among the words: an option (-f|--force, also in -uf and --force=x) or a pattern of an argument (+*)."`
	All      []string `toml:"all" json:"all,omitempty" doc:"Each of these must be among the words."`
	None     []string `toml:"none" json:"none,omitempty" doc:"None of these may be among the words."`

	Paths  []string `toml:"paths" json:"paths,omitempty" doc:"Patterns of files: **/.env, ~/.ssh/**. With commands: of their arguments."`
	Access Access   `toml:"access" json:"access,omitempty" doc:"read or write: only files that are used so, as far as that is known: by a redirection, by a tool, or as the source or the target of cp, mv, install and ln. Empty is both."`

	Line int `toml:"-" json:"line,omitempty"` // of its table in its file; zero is not known
}

// Access is how a file is used.
type Access string

// The ways to use a file. What is not known to be one of them may be either.
const (
	Read  Access = "read"
	Write Access = "write"
)

// Set is a collection of rules with a name.
type Set struct {
	Name    string `toml:"name" json:"name" doc:"Its name, for messages. Default: that of the file."`
	Summary string `toml:"summary" json:"summary,omitempty" doc:"One line for people."`
	Default Action `toml:"default" json:"default,omitempty" doc:"What happens to what no rule fits; empty leaves it to the others."`
	Rules   []Rule `toml:"rules" json:"rules"`

	File string `toml:"-" json:"file,omitempty"` // that it was read from; empty is none
}

// Source is a policy before it is checked: the sets in force everywhere, and those
// of roles.
type Source struct {
	Default Action // of what no rule fits; empty is the most severe of the sets', else allow
	Sets    []Set
	Roles   []RoleSource
	Disable []string // ids of rules of shipped sets that are not wanted
}

// RoleSource is what is in force for a role beside the rest.
type RoleSource struct {
	Role    string // pattern of roles and agents
	Default Action // empty is that of its sets, else the sheet's
	Sets    []Set
}
