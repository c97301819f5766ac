// Package agentcli is what we know of each agent CLI, as versioned data: how it
// is started, where it takes its prompt, what its screen looks like and which
// dialogs it shows. The data are the TOML files in profiles/; a city may patch
// them or add its own.
//
// A [Profile] is knowledge and never behaviour: internal/terminal/screen acts on
// [Screen] and [Dialog], the configuration turns the rest into a
// runtime.Config. Nothing outside this package names an agent CLI.
package agentcli

import (
	"cmp"
	"fmt"
	"slices"
)

// PromptMode is how the first prompt reaches an agent.
type PromptMode string

// The prompt modes. The empty mode is [PromptNone].
const (
	PromptArg  PromptMode = "arg"  // positional argument of the command
	PromptFlag PromptMode = "flag" // argument of Profile.PromptFlag
	PromptNone PromptMode = "none" // typed as a nudge once the agent is ready
	// PromptWorker: by the worker API, which the agent speaks itself; nothing is typed.
	PromptWorker PromptMode = "worker"
)

// ResumeStyle is how a conversation is resumed.
type ResumeStyle string

// The resume styles. The empty style: the agent CLI cannot resume.
const (
	ResumeByFlag       ResumeStyle = "flag"       // command --resume KEY
	ResumeBySubcommand ResumeStyle = "subcommand" // command resume KEY
)

// The keys of [Profile.UpstreamEnv].
const (
	UpstreamBaseURL   = "base_url"
	UpstreamAPIKey    = "api_key"
	UpstreamAuthToken = "auth_token"
)

// Profile is what we know of one agent CLI. The zero value of each field means
// "nothing known". Profiles from a [Set] are copies: callers may change them.
type Profile struct {
	// Name is what a city calls the profile ("claude"). Family is the profile
	// that it descends from, itself for a built-in one: overlays, hooks and
	// start-up behaviour follow the family.
	Name   string `toml:"name"`
	Family string `toml:"family"`

	// Command and Args are the program and what it always gets. The mode's
	// arguments come after Args, see [Profile.Argv].
	Command string   `toml:"command"`
	Args    []string `toml:"args"`

	// Env is added to the agent's environment, UnsetEnv is taken out of it.
	Env      map[string]string `toml:"env"`
	UnsetEnv []string          `toml:"unset_env"`

	PromptMode PromptMode `toml:"prompt_mode"`
	PromptFlag string     `toml:"prompt_flag"` // for PromptFlag mode

	// The start hints of runtime.Config, with their meaning there.
	ReadyPromptPrefix      string   `toml:"ready_prompt_prefix"`
	ReadyDelayMs           int      `toml:"ready_delay_ms"`
	ProcessNames           []string `toml:"process_names"`
	EmitsPermissionWarning bool     `toml:"emits_permission_warning"`
	AcceptStartupDialogs   *bool    `toml:"accept_startup_dialogs"`

	// SupportsHooks: the agent CLI runs hooks, so it needs no instruction to
	// prime itself. InstructionsFile is the file it reads in its working directory.
	SupportsHooks    bool   `toml:"supports_hooks"`
	InstructionsFile string `toml:"instructions_file"`
	// PathCheck is a program that must be found besides the command's own, where that is a
	// wrapper.
	PathCheck string `toml:"path_check"`

	// ResumeFlag is the flag or the subcommand that takes the conversation's
	// key, by ResumeStyle. SessionIDFlag gives a new conversation our own key;
	// empty if the agent CLI picks it.
	ResumeFlag    string      `toml:"resume_flag"`
	ResumeStyle   ResumeStyle `toml:"resume_style"`
	SessionIDFlag string      `toml:"session_id_flag"`

	// PermissionModes are the arguments of each permission mode;
	// PermissionMode is the one used when the city names none. Empty means the
	// agent CLI's own default.
	PermissionModes map[string][]string `toml:"permission_modes"`
	PermissionMode  string              `toml:"permission_mode"`
	// AskingMode is the mode in which the agent CLI asks a person before it uses a tool that
	// changes something. Empty if none is known.
	AskingMode string `toml:"asking_mode"`
	// AskingEnv is what an agent CLI has in its environment to ask, where that and no mode decides.
	AskingEnv map[string]string `toml:"asking_env"`
	// NeverAsks: the agent CLI asks no questions, in any mode.
	NeverAsks bool `toml:"never_asks"`
	// RefusedAsRoot are the modes in which the agent CLI does not start as root, unless the
	// variable AsRootEnv is set.
	RefusedAsRoot []string `toml:"refused_as_root"`
	// UnlistedModes are values in PermissionModes that the agent CLI accepts and its help text
	// does not list.
	UnlistedModes []string `toml:"unlisted_modes"`
	AsRootEnv     string   `toml:"as_root_env"`

	// Tested are the versions that gc was tested with, the oldest first.
	Tested []string `toml:"tested"`

	// UpstreamEnv names the variable for each of [UpstreamBaseURL],
	// [UpstreamAPIKey] and [UpstreamAuthToken]. A missing key: the agent CLI
	// takes it from its own configuration only.
	UpstreamEnv map[string]string `toml:"upstream_env"`

	// ACPArgs replace Args to speak the Agent Client Protocol on standard
	// input and output. ACPCommand replaces Command if it is another program.
	ACPCommand string   `toml:"acp_command"`
	ACPArgs    []string `toml:"acp_args"`
	// ACPResumeFlag, with the id of a conversation behind it, follows ACPArgs when a conversation
	// is continued, for an agent CLI that has to know the id before the protocol names it.
	ACPResumeFlag string `toml:"acp_resume_flag"`
	// ACPModes names, by permission mode, the session mode of that protocol.
	ACPModes map[string]string `toml:"acp_modes"`
	// ACPAsking is the permission mode that an agent gets by that protocol if the city names none;
	// empty: the agent CLI's own.
	ACPAsking string `toml:"acp_asking"`

	Screen  Screen   `toml:"screen"`
	Dialogs []Dialog `toml:"dialogs"`
}

// ACPProfile returns the profile of the same CLI as a program that speaks the Agent Client
// Protocol: its command for that, and nothing that concerns a terminal. ok is false if the
// profile does not know how.
func (p Profile) ACPProfile() (speaking Profile, ok bool) {
	if p.ACPCommand == "" && p.ACPArgs == nil {
		return p, false
	}
	if p.ACPCommand != "" && p.ACPCommand != p.Command {
		p.SupportsHooks, p.ACPResumeFlag = false, "" // another program does not know their arguments
	}
	p.Command, p.Args = cmp.Or(p.ACPCommand, p.Command), p.ACPArgs
	p.ReadyPromptPrefix, p.ReadyDelayMs, p.EmitsPermissionWarning, p.AcceptStartupDialogs = "", 0, false, nil
	p.ResumeFlag, p.SessionIDFlag, p.PermissionModes, p.PermissionMode, p.AskingMode = "", "", nil, "", ""
	return p, true
}

// ACPMode returns the session mode of the Agent Client Protocol for a permission mode. The empty
// one is the mode in which the agent CLI asks a person; then an agent CLI whose modes are not
// known has none. Any other mode that is not known is an error that lists the known ones.
func (p Profile) ACPMode(mode string) (string, error) {
	if mode == "" {
		return p.ACPModes[p.ACPAsking], nil
	}
	id, ok := p.ACPModes[mode]
	if !ok {
		if len(p.ACPModes) == 0 {
			return "", fmt.Errorf("gc knows no permission modes of %s by the Agent Client Protocol; set the agent's own word for it as GC_ACP_MODE in env", p.Name)
		}
		return "", fmt.Errorf("%s has no permission mode %q by the Agent Client Protocol%s", p.Name, mode, hint(mode, sortedKeys(p.ACPModes)))
	}
	return id, nil
}

// Unrestricted is the name of the mode in which an agent CLI skips all permission questions.
const Unrestricted = "unrestricted"

// SkipsPermissions reports whether the agent CLI uses its tools without asking in the given
// permission mode and with the given additions to its environment; the empty mode is the
// profile's own.
func (p Profile) SkipsPermissions(mode string, env map[string]string) bool {
	builtin := Builtin().Resolve(p.Family, Generic)
	for name := range p.AskingEnv {
		if allow := builtin.Env[name]; allow != "" && cmp.Or(env[name], p.Env[name]) == allow {
			return true
		}
	}
	return p.NeverAsks || cmp.Or(mode, p.PermissionMode) == Unrestricted
}

// TestedVersion reports whether a version is within the range that gc was tested with.
func (p Profile) TestedVersion(version string) bool {
	if version == "" || len(p.Tested) == 0 {
		return false
	}
	return compareVersions(version, p.Tested[0]) >= 0 && compareVersions(version, p.Tested[len(p.Tested)-1]) <= 0
}

// TestedRange returns the range of versions that gc was tested with, for people; empty if none was.
func (p Profile) TestedRange() string {
	switch len(p.Tested) {
	case 0:
		return ""
	case 1:
		return p.Tested[0]
	}
	return p.Tested[0] + " to " + p.Tested[len(p.Tested)-1]
}

// Argv returns the command with its arguments in the given permission mode; the
// empty mode is the profile's own. Nil if the profile has no command. An
// unknown mode is an error that lists the known ones.
func (p Profile) Argv(mode string) ([]string, error) {
	if mode == "" {
		mode = p.PermissionMode
	}
	args, ok := p.PermissionModes[mode]
	if !ok && mode != "" {
		return nil, fmt.Errorf("profile %s has no permission mode %q%s", p.Name, mode, hint(mode, sortedKeys(p.PermissionModes)))
	}
	if p.Command == "" {
		return nil, nil
	}
	return slices.Concat([]string{p.Command}, p.Args, args), nil
}
