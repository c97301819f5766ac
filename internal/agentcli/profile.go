// Package agentcli contains versioned data about each agent CLI: how to start it, how it accepts
// its first prompt, what its screen looks like and which dialogs it shows. The data are the TOML
// files in profiles/. A city may change them or add its own.
//
// A [Profile] is only data: internal/terminal/screen uses [Screen] and [Dialog], and the
// configuration turns the rest into a runtime.Config. [Hooks] is data about the hooks of an agent CLI:
// the events to subscribe to and their meaning for a city, the form of an answer, and how to enable
// the hooks for one session without changing a file of the user. internal/hookrunner uses it.
//
// Only this package and its subpackages name agent CLIs.
package agentcli

import (
	"cmp"
	"fmt"
	"slices"
)

// PromptMode says how the first prompt gets to an agent.
type PromptMode string

// The prompt modes. The empty mode is [PromptNone].
const (
	PromptArg  PromptMode = "arg"  // positional argument of the command
	PromptFlag PromptMode = "flag" // argument of Profile.PromptFlag
	PromptNone PromptMode = "none" // typed as a nudge once the agent is ready
	// PromptWorker: sent by the worker API, which the agent uses itself; nothing is typed.
	PromptWorker PromptMode = "worker"
)

// ResumeStyle says how the command line of an agent CLI resumes a conversation.
type ResumeStyle string

// The resume styles. The empty style means that the agent CLI cannot resume.
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

// Profile is the data about one agent CLI. A field with its zero value is not known. A profile that
// a [Set] returns is a copy, which the caller may change.
type Profile struct {
	// Name is the name that a city uses ("claude"). Family is the built-in profile from which this
	// one is derived, and the name itself for a built-in one. Overlays, hooks and start-up behavior
	// depend on the family.
	Name   string `toml:"name"`
	Family string `toml:"family"`

	// Command and Args are the program and the arguments that it always gets. The arguments of the
	// permission mode come after Args, see [Profile.Argv].
	Command string   `toml:"command"`
	Args    []string `toml:"args"`

	// Env is added to the agent's environment, and UnsetEnv is removed from it.
	Env      map[string]string `toml:"env"`
	UnsetEnv []string          `toml:"unset_env"`

	PromptMode PromptMode `toml:"prompt_mode"`
	PromptFlag string     `toml:"prompt_flag"` // for PromptFlag mode

	// The start hints of runtime.Config, with the same meaning.
	ReadyPromptPrefix      string   `toml:"ready_prompt_prefix"`
	ReadyDelayMs           int      `toml:"ready_delay_ms"`
	ProcessNames           []string `toml:"process_names"`
	EmitsPermissionWarning bool     `toml:"emits_permission_warning"`
	AcceptStartupDialogs   *bool    `toml:"accept_startup_dialogs"`

	// SupportsHooks means that the agent CLI runs hooks, so it needs no instruction to run gc
	// prime. InstructionsFile is the file that it reads in its working directory.
	SupportsHooks    bool   `toml:"supports_hooks"`
	InstructionsFile string `toml:"instructions_file"`
	// PathCheck is another program that must be found if the command is only a wrapper.
	PathCheck string `toml:"path_check"`

	// ResumeFlag is the flag or the subcommand before the conversation's key, see ResumeStyle.
	// SessionIDFlag sets the key of a new conversation; empty if only the agent CLI chooses it.
	ResumeFlag    string      `toml:"resume_flag"`
	ResumeStyle   ResumeStyle `toml:"resume_style"`
	SessionIDFlag string      `toml:"session_id_flag"`

	// PermissionModes are the arguments of each permission mode. PermissionMode is the mode that is
	// used if the city names none; empty: the agent CLI's own default.
	PermissionModes map[string][]string `toml:"permission_modes"`
	PermissionMode  string              `toml:"permission_mode"`
	// AskingMode is the mode in which the agent CLI asks a person before it uses a tool that
	// changes something. Empty if no such mode is known.
	AskingMode string `toml:"asking_mode"`
	// AskingEnv are the environment variables that make an agent CLI ask, if variables and not a
	// mode decide that.
	AskingEnv map[string]string `toml:"asking_env"`
	// NeverAsks means that the agent CLI asks no questions in any mode.
	NeverAsks bool `toml:"never_asks"`
	// RefusedAsRoot are the modes in which the agent CLI refuses to start as root unless the
	// variable AsRootEnv is set.
	RefusedAsRoot []string `toml:"refused_as_root"`
	// UnlistedModes are values in PermissionModes that the agent CLI accepts although its help text
	// does not list them.
	UnlistedModes []string `toml:"unlisted_modes"`
	AsRootEnv     string   `toml:"as_root_env"`

	// Tested are the versions that gc was tested with, the oldest first.
	Tested []string `toml:"tested"`

	// UpstreamEnv maps [UpstreamBaseURL], [UpstreamAPIKey] and [UpstreamAuthToken] to environment
	// variables. If a key is missing, the agent CLI reads that setting only from its own
	// configuration.
	UpstreamEnv map[string]string `toml:"upstream_env"`

	// ACPArgs replace Args if the agent CLI is to use the Agent Client Protocol on standard input
	// and output. ACPCommand replaces Command if that needs another program.
	ACPCommand string   `toml:"acp_command"`
	ACPArgs    []string `toml:"acp_args"`
	// ACPResumeFlag, followed by a conversation's ID, comes after ACPArgs when a conversation is
	// continued. It is for an agent CLI that needs the ID before the protocol names it.
	ACPResumeFlag string `toml:"acp_resume_flag"`
	// ACPModes maps permission modes to session modes of that protocol.
	ACPModes map[string]string `toml:"acp_modes"`
	// ACPAsking is the permission mode in that protocol if the city names none; empty: the agent
	// CLI's own default.
	ACPAsking string `toml:"acp_asking"`

	Screen  Screen   `toml:"screen"`
	Dialogs []Dialog `toml:"dialogs"`
}

// ACPProfile returns a profile that runs the same agent CLI with the Agent Client Protocol. It has
// no settings for a terminal. ok is false if the agent CLI does not speak that protocol.
func (p Profile) ACPProfile() (speaking Profile, ok bool) {
	if p.ACPCommand == "" && p.ACPArgs == nil {
		return p, false
	}
	if p.ACPCommand != "" && p.ACPCommand != p.Command {
		p.SupportsHooks, p.ACPResumeFlag = false, "" // another program does not know these arguments
	}
	p.Command, p.Args = cmp.Or(p.ACPCommand, p.Command), p.ACPArgs
	p.ReadyPromptPrefix, p.ReadyDelayMs, p.EmitsPermissionWarning, p.AcceptStartupDialogs = "", 0, false, nil
	p.ResumeFlag, p.SessionIDFlag, p.PermissionModes, p.PermissionMode, p.AskingMode = "", "", nil, "", ""
	return p, true
}

// ACPMode returns the session mode in the Agent Client Protocol for a permission mode. An empty
// permission mode means the one in which the agent CLI asks a person; its session mode is empty if
// no modes are known. Any other mode that is not known is an error, which lists the known ones.
func (p Profile) ACPMode(mode string) (string, error) {
	if mode == "" {
		return p.ACPModes[p.ACPAsking], nil
	}
	id, ok := p.ACPModes[mode]
	if !ok {
		if len(p.ACPModes) == 0 {
			return "", fmt.Errorf("gc knows no permission modes of %s for the Agent Client Protocol; set GC_ACP_MODE in env to the agent's own name of the mode", p.Name)
		}
		return "", fmt.Errorf("%s has no permission mode %q for the Agent Client Protocol%s", p.Name, mode, hint(mode, sortedKeys(p.ACPModes)))
	}
	return id, nil
}

// Unrestricted is the name of the permission mode in which an agent CLI uses all tools without
// asking.
const Unrestricted = "unrestricted"

// SkipsPermissions reports whether the agent CLI uses its tools without asking a person, in a
// permission mode and with environment variables in addition to those of the profile. An empty mode
// means the mode of the profile.
func (p Profile) SkipsPermissions(mode string, env map[string]string) bool {
	builtin := Builtin().Resolve(p.Family, Generic)
	for name := range p.AskingEnv {
		if allow := builtin.Env[name]; allow != "" && cmp.Or(env[name], p.Env[name]) == allow {
			return true
		}
	}
	return p.NeverAsks || cmp.Or(mode, p.PermissionMode) == Unrestricted
}

// TestedVersion reports whether a version is in the range from the oldest to the newest version
// that gc was tested with. It returns false for an unknown version, which is empty.
func (p Profile) TestedVersion(version string) bool {
	if version == "" || len(p.Tested) == 0 {
		return false
	}
	return compareVersions(version, p.Tested[0]) >= 0 && compareVersions(version, p.Tested[len(p.Tested)-1]) <= 0
}

// TestedRange returns the oldest and the newest version that gc was tested with, as text for
// people. It is empty if gc was not tested with any.
func (p Profile) TestedRange() string {
	switch len(p.Tested) {
	case 0:
		return ""
	case 1:
		return p.Tested[0]
	}
	return p.Tested[0] + " to " + p.Tested[len(p.Tested)-1]
}

// Argv returns the command and its arguments for a permission mode. An empty mode means the mode of
// the profile. Without a command in the profile the result is nil. A mode that is not known is an
// error, which lists the known ones.
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
