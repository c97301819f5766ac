package agentcli

import (
	"maps"
	"slices"
)

// Patch is what a city changes in a profile. A field that is nil changes nothing. A field that is
// empty but not nil makes the field of the profile empty.
type Patch struct {
	// Base is the profile to start from; empty: the profile of the same name.
	Base string `toml:"base"`

	Command                *string             `toml:"command"`
	Args                   []string            `toml:"args"`
	Env                    map[string]string   `toml:"env"` // merged by name
	UnsetEnv               []string            `toml:"unset_env"`
	PromptMode             *PromptMode         `toml:"prompt_mode"`
	PromptFlag             *string             `toml:"prompt_flag"`
	ReadyPromptPrefix      *string             `toml:"ready_prompt_prefix"`
	ReadyDelayMs           *int                `toml:"ready_delay_ms"`
	ProcessNames           []string            `toml:"process_names"`
	EmitsPermissionWarning *bool               `toml:"emits_permission_warning"`
	AcceptStartupDialogs   *bool               `toml:"accept_startup_dialogs"`
	SupportsHooks          *bool               `toml:"supports_hooks"`
	InstructionsFile       *string             `toml:"instructions_file"`
	PathCheck              *string             `toml:"path_check"`
	ResumeFlag             *string             `toml:"resume_flag"`
	ResumeStyle            *ResumeStyle        `toml:"resume_style"`
	SessionIDFlag          *string             `toml:"session_id_flag"`
	PermissionModes        map[string][]string `toml:"permission_modes"` // merged by name
	PermissionMode         *string             `toml:"permission_mode"`
	UpstreamEnv            map[string]string   `toml:"upstream_env"` // merged by name
	ACPCommand             *string             `toml:"acp_command"`
	ACPArgs                []string            `toml:"acp_args"`
	Screen                 *Screen             `toml:"screen"`  // replaced as a whole
	Dialogs                []Dialog            `toml:"dialogs"` // added before the others; replaces a dialog with the same ID
}

// apply returns the profile p with the changes of the patch. It may change the maps of p, so the
// caller must not share them.
func (patch Patch) apply(p Profile) Profile {
	set(&p.Command, patch.Command)
	set(&p.PromptMode, patch.PromptMode)
	set(&p.PromptFlag, patch.PromptFlag)
	set(&p.ReadyPromptPrefix, patch.ReadyPromptPrefix)
	set(&p.ReadyDelayMs, patch.ReadyDelayMs)
	set(&p.EmitsPermissionWarning, patch.EmitsPermissionWarning)
	set(&p.SupportsHooks, patch.SupportsHooks)
	set(&p.InstructionsFile, patch.InstructionsFile)
	set(&p.PathCheck, patch.PathCheck)
	set(&p.ResumeFlag, patch.ResumeFlag)
	set(&p.ResumeStyle, patch.ResumeStyle)
	set(&p.SessionIDFlag, patch.SessionIDFlag)
	set(&p.PermissionMode, patch.PermissionMode)
	set(&p.ACPCommand, patch.ACPCommand)
	set(&p.Screen, patch.Screen)
	if patch.AcceptStartupDialogs != nil {
		p.AcceptStartupDialogs = patch.AcceptStartupDialogs
	}
	list(&p.Args, patch.Args)
	list(&p.UnsetEnv, patch.UnsetEnv)
	list(&p.ProcessNames, patch.ProcessNames)
	list(&p.ACPArgs, patch.ACPArgs)
	p.Env = merged(p.Env, patch.Env)
	p.PermissionModes = merged(p.PermissionModes, patch.PermissionModes)
	p.UpstreamEnv = merged(p.UpstreamEnv, patch.UpstreamEnv)
	p.Dialogs = slices.Concat(patch.Dialogs, slices.DeleteFunc(p.Dialogs, func(d Dialog) bool {
		return slices.ContainsFunc(patch.Dialogs, func(n Dialog) bool { return n.ID == d.ID })
	}))
	return p
}

// set sets field if value is not nil.
func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// list sets field to a copy of value if value is not nil.
func list(field *[]string, value []string) {
	if value != nil {
		*field = slices.Clone(value)
	}
}

// merged returns a map with the entries of base and over. Where both have a key, that of over
// counts. base does not change.
func merged[V any](base, over map[string]V) map[string]V {
	if len(over) == 0 {
		return base
	}
	out := maps.Clone(base)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, over)
	return out
}
