package config

// Provider is a [providers.<name>] section: an agent CLI. Each written key replaces that of the
// base profile.
type Provider struct {
	Keys
	Hints
	Base             string              `toml:"base" doc:"The profile that this one changes: builtin:<name> or provider:<name>. Default: the built-in profile of the same name, if there is one."`
	DisplayName      string              `toml:"display_name" doc:"Name for people."`
	Command          string              `toml:"command" alias:"start_command" doc:"The program or shell command; the args of the base apply unless args is given."`
	Args             []string            `toml:"args" doc:"Arguments of the command; gc quotes each for the shell."`
	ArgsAppend       []string            `toml:"args_append" doc:"Further arguments after args or those of the base."`
	Env              map[string]string   `toml:"env" doc:"Environment variables, as in an agent."`
	PromptMode       PromptMode          `toml:"prompt_mode" doc:"The same as prompt_mode in [[agents]], for agents that set none."`
	PromptFlag       string              `toml:"prompt_flag" doc:"The same as prompt_flag in [[agents]], for agents that set none."`
	UpstreamEnv      map[string]string   `toml:"upstream_env" doc:"The environment variables for base_url, api_key and auth_token of an upstream."`
	SupportsHooks    bool                `toml:"supports_hooks" doc:"The agent CLI runs hooks."`
	InstructionsFile string              `toml:"instructions_file" doc:"The file with instructions that the agent CLI reads by itself."`
	ResumeFlag       string              `toml:"resume_flag" doc:"Flag or subcommand that continues a conversation."`
	ResumeStyle      ResumeStyle         `toml:"resume_style" doc:"Whether resume_flag is a flag or a subcommand."`
	PermissionModes  map[string][]string `toml:"permission_modes" doc:"Arguments of each permission mode: a list, or one string that is split at spaces."`
	PermissionMode   string              `toml:"permission_mode" doc:"The permission mode of agents that name none."`
	SessionIDFlag    string              `toml:"session_id_flag" doc:"Flag that sets the id of a new conversation."`

	ResumeCommand string   `toml:"resume_command" doc:"The same as resume_command in [[agents]], for agents that set none."`
	PathCheck     string   `toml:"path_check" doc:"Program that must be in PATH in addition to the command, if the command is a wrapper; gc doctor checks it."`
	SupportsACP   bool     `toml:"supports_acp" doc:"The agent CLI speaks the Agent Client Protocol."`
	ACPCommand    string   `toml:"acp_command" doc:"Command that speaks the Agent Client Protocol."`
	ACPArgs       []string `toml:"acp_args" doc:"Its arguments."`
}

// Upstream is an [upstreams.<name>] section: a service that provides the model. Its name is part
// of the launch fingerprint, its values are not.
type Upstream struct {
	Keys
	BaseURL   string            `toml:"base_url" doc:"Address of the service."`
	APIKey    Secret            `toml:"api_key" doc:"API key of the service: a reference such as env:NAME, file:PATH (relative to the city), command:LINE (runs in the city directory) or credential:NAME, the same as a table such as {env = \"NAME\"}, or the value itself."`
	AuthToken Secret            `toml:"auth_token" doc:"Bearer token, written like api_key."`
	Env       map[string]string `toml:"env" doc:"Further environment variables of the agent; they are not templates."`
}
