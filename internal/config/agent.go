package config

import "time"

// Agent is an [[agents]] section of city.toml: the configuration of one agent or of one pool.
type Agent struct {
	Keys
	Identity
	Launch
	Hints
	Setup
	Staging
	Scaling
	Rest
	Attention
}

// Identity has the keys with the name and the directories of an agent.
type Identity struct {
	Name        string   `toml:"name" doc:"The agent's name: letters, digits, '.', '_' and '-'. With dir, its qualified name is dir/name."`
	Description string   `toml:"description" doc:"One line for people."`
	Dir         string   `toml:"dir" doc:"The rig, or the folder inside the city, that the agent belongs to and works in."`
	WorkDir     string   `toml:"work_dir" doc:"The working folder, relative to the city; a template. Default: the rig's folder or dir, else the city."`
	Suspended   bool     `toml:"suspended" doc:"The agent is configured but does not run."`
	DependsOn   []string `toml:"depends_on" doc:"Agents that must be ready before this one starts; of a pool, one member is enough. A sleeping agent is woken."`
}

// QualifiedName returns the name by which people and commands refer to the agent: "dir/name", or
// only the name if dir is empty.
func (i Identity) QualifiedName() string {
	if i.Dir == "" {
		return i.Name
	}
	return i.Dir + "/" + i.Name
}

// Launch has the keys for the command of an agent and for its prompts.
type Launch struct {
	Provider       string            `toml:"provider" doc:"The agent CLI: a built-in profile or a [providers.<name>]."`
	Upstream       string            `toml:"upstream" doc:"The [upstreams.<name>] that serves the model."`
	Credentials    []string          `toml:"credentials" doc:"Names of the [credentials.<name>] that the agent gets: in their variables when it starts, and through its worker each time they are renewed."`
	StartCommand   string            `toml:"start_command" alias:"command" doc:"The shell command, in place of the provider's command and args; a template."`
	Args           []string          `toml:"args" doc:"Arguments, appended to the command, each quoted. They replace the provider's."`
	ArgsAppend     []string          `toml:"args_append" doc:"Further arguments after args or the provider's args."`
	PermissionMode string            `toml:"permission_mode" doc:"One of the provider's permission modes; its arguments follow args."`
	Lifecycle      Lifecycle         `toml:"lifecycle" doc:"one_shot: the command does bounded work and exits. Default: long-lived."`
	Session        string            `toml:"session" doc:"The runtime provider of this agent, in place of the city's."`
	Env            map[string]string `toml:"env" doc:"Environment variables; templates, and $VAR is replaced by the variable of that name. An empty value unsets the variable."`
	PromptTemplate string            `toml:"prompt_template" doc:"File with the first prompt, a Go template; relative to the city."`
	PromptMode     PromptMode        `toml:"prompt_mode" doc:"How the first prompt reaches the agent: as an argument, after prompt_flag, (none) typed once it is ready, or (worker) through the worker API, like all its prompts: they wait for its worker, and nothing is ever typed into its terminal. Default: the provider's, else none."`
	PromptFlag     string            `toml:"prompt_flag" doc:"The command-line flag that precedes the prompt, if prompt_mode is \"flag\"."`
	Channel        Channel           `toml:"channel" doc:"How prompts reach the agent once it runs. (native) Through the agent CLI's own interface (codex, opencode, pi); prompts for other agent CLIs are typed. (typed) Always typed. A change takes effect at the next start of the agent. Default: native."`
	Nudge          string            `toml:"nudge" doc:"Text typed once the agent is ready. With prompt_mode none it follows the prompt, after a blank line, in one message."`
	MouseMode      Switch            `toml:"mouse_mode" doc:"Keep the mouse mode of a multiplexer on. Default: off."`
	ResumeCommand  string            `toml:"resume_command" doc:"Shell command that continues a conversation, in place of the provider's command; a template in which {{.SessionKey}} is the conversation's id."`
	WakeMode       WakeMode          `toml:"wake_mode" doc:"Whether a later start continues the conversation (resume), if its id is known, or begins a new one (fresh). Default: resume."`
}

// Hints has the keys that say how gc detects that an agent is ready and alive. A change of one of
// them does not restart the agent: ready_prompt_prefix and process_names apply to a running agent
// at once, the others from its next start.
type Hints struct {
	ReadyPromptPrefix      string   `toml:"ready_prompt_prefix" doc:"Beginning of the screen line that shows that the agent is ready."`
	ReadyDelayMs           int      `toml:"ready_delay_ms" doc:"Time to wait for readiness, in milliseconds, when there is no ready_prompt_prefix."`
	ProcessNames           []string `toml:"process_names" doc:"Names of the agent's processes."`
	EmitsPermissionWarning bool     `toml:"emits_permission_warning" doc:"The agent shows a permission dialog when it starts."`
	AcceptStartupDialogs   *bool    `toml:"accept_startup_dialogs" doc:"Answer known start-up dialogs. Default: if process_names or emits_permission_warning is set."`
}

// Setup has the keys with the commands that gc runs before and after the start of an agent. Each
// command is a Go template and runs with sh -c.
type Setup struct {
	PreStart           []string `toml:"pre_start" doc:"Commands before the session is created, where the agent will run. A failure aborts the start."`
	SessionSetup       []string `toml:"session_setup" doc:"Commands once the agent is ready. A failure is a warning."`
	SessionSetupScript string   `toml:"session_setup_script" doc:"Script that runs after the commands of session_setup. Its path is relative to the city; a path such as //x too."`
	SessionLive        []string `toml:"session_live" doc:"Idempotent commands at the end of a start, and again when they change."`
}

// Staging has the keys that say what gc copies into the working directory before the start of an
// agent.
type Staging struct {
	OverlayDir        string      `toml:"overlay_dir" doc:"Folder whose files are copied into the working directory; existing files are not overwritten. Its path is relative to the city; a path such as //x too."`
	PackOverlayDirs   []string    `toml:"pack_overlay_dirs" doc:"Overlay folders with lower priority, after the workspace's."`
	CopyFiles         []CopyEntry `toml:"copy_files" doc:"Files and folders copied into the working folder."`
	InstallAgentHooks []string    `toml:"install_agent_hooks" doc:"Agent CLIs whose hooks and per-provider overlays the agent gets: only these, and [] for none. Default: the workspace's."`
	HooksInstalled    *bool       `toml:"hooks_installed" doc:"The agent's hooks are installed, so the prompt needs no instruction to run gc prime. Default: whether install_agent_hooks names its provider."`
}

// CopyEntry is an item of copy_files: a file or directory to copy.
type CopyEntry struct {
	Keys
	Src    string `toml:"src" doc:"File or folder to copy. Its path is relative to the city; a path such as //x too."`
	RelDst string `toml:"rel_dst" doc:"Destination inside the working folder. Default: its root."`
}

// Scaling has the keys of a pool.
type Scaling struct {
	Pool              Pool          `toml:"pool" doc:"Makes the agent a pool: several sessions, started and stopped to match the wanted number."`
	MaxActiveSessions *int          `toml:"max_active_sessions" doc:"Another name of max in [agents.pool]. The value 1 without other pool keys does not make the agent a pool."`
	MinActiveSessions *int          `toml:"min_active_sessions" doc:"Another name of min in [agents.pool]."`
	ScaleCheck        string        `toml:"scale_check" doc:"Another name of check in [agents.pool]."`
	DrainTimeout      time.Duration `toml:"drain_timeout" doc:"How long an agent that is asked to finish its work may continue before it is stopped. Default: 5m."`
}

// Pool is the [agents.pool] section: how many sessions an agent has.
type Pool struct {
	Keys
	Min   *int   `toml:"min" doc:"The minimum number of running members. Default: 0 with a check, else 1."`
	Max   *int   `toml:"max" doc:"The maximum number of running members; required. The members are the agents NAME-1 to NAME-max."`
	Check string `toml:"check" doc:"Shell command whose last output line is the wanted number of members; it runs in the city directory. If it fails, the last number stays. Default: min members."`
}

// Rest has the keys that limit how long a session runs.
type Rest struct {
	IdleTimeout         time.Duration    `toml:"idle_timeout" doc:"Idle time after which the session is put to sleep: stopped until a prompt, a person or an agent that depends on it needs it. It has no effect on the members of a pool."`
	SleepAfterIdle      OptionalDuration `toml:"sleep_after_idle" doc:"Another name of idle_timeout; the shorter value counts, and off disables this one."`
	MaxSessionAge       time.Duration    `toml:"max_session_age" doc:"Age at which the session is restarted. gc waits until the session is not in use."`
	MaxSessionAgeJitter time.Duration    `toml:"max_session_age_jitter" doc:"Maximum random addition to max_session_age, chosen for each start."`
}

// Attention has the keys that say what gc does about an agent's unanswered questions, its full
// context window and its turns without progress.
type Attention struct {
	Pending Pending `toml:"pending" doc:"What happens when the agent's question gets no answer."`
	Context Context `toml:"context" doc:"What happens when the agent's context window fills up."`

	ProgressStallTimeout OptionalDuration `toml:"progress_stall_timeout" doc:"How long a turn may show no sign of progress before the agent counts as stalled; off: never. Default: that of [daemon]."`
	OnStall              OnStall          `toml:"on_stall" doc:"What gc does when this agent stalls; see on_stall in [daemon]. Default: the value in [daemon]."`
}

// Context is the [agents.context] section: what gc does when the context window of the agent's
// model fills up.
type Context struct {
	Keys
	WarnAt    int           `toml:"warn_at" doc:"Percentage of the context window, as reported by the agent's worker, at which gc emits the event worker.context. Default: never."`
	CompactAt int           `toml:"compact_at" doc:"Percentage at which gc asks the worker to compact the conversation, between two turns. The worker must support it. Default: never."`
	HandoffAt int           `toml:"handoff_at" doc:"Percentage at which gc restarts the agent, between two turns, in a new conversation that gets a note about the previous one. A pending compaction runs first. Default: never."`
	Within    time.Duration `toml:"within" doc:"How long a compaction may take. Until it ends, the agent gets no prompts, and gc postpones restarts for a changed configuration, for its age or at its own request. Default: 5m."`
}

// Pending is the [agents.pending] section: what gc does with a question of the agent that no person
// answers.
type Pending struct {
	Keys
	Policy PendingPolicy `toml:"policy" doc:"wait: gc never answers; deny: gc refuses a permission and cancels any other question; answer: gc sends answer; escalate: gc sends the alert again. Logins, limits and questions that only a person may answer are always escalated. Default: escalate."`
	After  time.Duration `toml:"after" doc:"How long a person may take to answer before the policy applies. Default: 10m."`
	Answer string        `toml:"answer" doc:"The answer: the label or number of an option, or a text."`
}
