package script

import (
	"encoding/json"
	"maps"
	"slices"

	"gascity/runtime"
)

// Start is the document on standard input of start, provision and run-live. Empty fields are omitted.
type Start struct {
	WorkDir            string            `json:"work_dir,omitempty"`
	Command            string            `json:"command,omitempty"`
	Lifecycle          string            `json:"lifecycle,omitempty"`
	Env                map[string]string `json:"env,omitempty"`
	UnsetEnv           []string          `json:"unset_env,omitempty"`
	ProcessNames       []string          `json:"process_names,omitempty"`
	Nudge              string            `json:"nudge,omitempty"`
	ReadyPromptPrefix  string            `json:"ready_prompt_prefix,omitempty"`
	ReadyDelayMs       int               `json:"ready_delay_ms,omitempty"`
	PreStart           []string          `json:"pre_start,omitempty"`
	SessionSetup       []string          `json:"session_setup,omitempty"`
	SessionSetupScript string            `json:"session_setup_script,omitempty"`
	SessionLive        []string          `json:"session_live,omitempty"`
	PackOverlayDirs    []string          `json:"pack_overlay_dirs,omitempty"`
	OverlayDir         string            `json:"overlay_dir,omitempty"`
	CopyFiles          []CopyFile        `json:"copy_files,omitempty"`

	ProviderName        string                    `json:"provider_name,omitempty"`
	ProviderOverlayName string                    `json:"provider_overlay_name,omitempty"`
	InstallAgentHooks   []string                  `json:"install_agent_hooks,omitempty"`
	MCPServers          []runtime.MCPServerConfig `json:"mcp_servers,omitempty"`
	StartupEnvelope     json.RawMessage           `json:"startup_envelope,omitempty"`

	// Only for a script that runs the whole start sequence, see [CapSequence].
	AcceptStartupDialogs   *bool `json:"accept_startup_dialogs,omitempty"`
	EmitsPermissionWarning bool  `json:"emits_permission_warning,omitempty"`
	MouseOn                bool  `json:"mouse_on,omitempty"`
}

// CopyFile is one entry of copy_files.
type CopyFile struct {
	Src    string `json:"src"`
	RelDst string `json:"rel_dst,omitempty"`
}

// NewStart returns the document for a configuration. A first prompt on the command line is appended to the command. A variable
// that must be removed from the environment has an empty value in Env and is also in UnsetEnv: a script that does not know
// UnsetEnv sets it to an empty value. Nudge is not set; [Start.WithSequence] sets it and the fields about dialogs.
func NewStart(cfg runtime.Config) Start {
	s := Start{
		WorkDir: cfg.WorkDir, Command: cfg.LaunchCommand(), Lifecycle: string(cfg.Lifecycle), Env: cfg.Env,
		ProcessNames: cfg.ProcessNames, ReadyPromptPrefix: cfg.ReadyPromptPrefix, ReadyDelayMs: cfg.ReadyDelayMs,
		PreStart: cfg.PreStart, SessionSetup: cfg.SessionSetup, SessionSetupScript: cfg.SessionSetupScript, SessionLive: cfg.SessionLive,
		PackOverlayDirs: cfg.PackOverlayDirs, OverlayDir: cfg.OverlayDir,
		ProviderName: cfg.ProviderName, ProviderOverlayName: cfg.ProviderOverlayName, InstallAgentHooks: cfg.InstallAgentHooks,
		MCPServers: cfg.MCPServers, StartupEnvelope: cfg.StartupEnvelope,
	}
	for _, key := range slices.Sorted(maps.Keys(cfg.Env)) {
		if cfg.Env[key] == "" {
			s.UnsetEnv = append(s.UnsetEnv, key)
		}
	}
	for _, f := range cfg.CopyFiles {
		s.CopyFiles = append(s.CopyFiles, CopyFile{Src: f.Src, RelDst: f.RelDst})
	}
	return s
}

// WithSequence returns the document with all fields that a script needs to run the whole start sequence.
func (s Start) WithSequence(cfg runtime.Config) Start {
	s.Nudge = cfg.Nudge
	s.AcceptStartupDialogs, s.EmitsPermissionWarning, s.MouseOn = cfg.AcceptStartupDialogs, cfg.EmitsPermissionWarning, cfg.MouseOn
	return s
}

// Config returns the configuration of a session from the document that the operation start reads.
func (s Start) Config() runtime.Config {
	cfg := runtime.Config{
		WorkDir: s.WorkDir, Command: s.Command, Lifecycle: runtime.Lifecycle(s.Lifecycle),
		ProcessNames: s.ProcessNames, Nudge: s.Nudge, ReadyPromptPrefix: s.ReadyPromptPrefix, ReadyDelayMs: s.ReadyDelayMs,
		PreStart: s.PreStart, SessionSetup: s.SessionSetup, SessionSetupScript: s.SessionSetupScript, SessionLive: s.SessionLive,
		PackOverlayDirs: s.PackOverlayDirs, OverlayDir: s.OverlayDir,
		ProviderName: s.ProviderName, ProviderOverlayName: s.ProviderOverlayName, InstallAgentHooks: s.InstallAgentHooks,
		MCPServers: s.MCPServers, StartupEnvelope: s.StartupEnvelope,
		AcceptStartupDialogs: s.AcceptStartupDialogs, EmitsPermissionWarning: s.EmitsPermissionWarning, MouseOn: s.MouseOn,
	}
	if len(s.Env)+len(s.UnsetEnv) > 0 {
		cfg.Env = make(map[string]string, len(s.Env)+len(s.UnsetEnv))
		maps.Copy(cfg.Env, s.Env)
		for _, key := range s.UnsetEnv {
			cfg.Env[key] = ""
		}
	}
	for _, f := range s.CopyFiles {
		cfg.CopyFiles = append(cfg.CopyFiles, runtime.CopyEntry{Src: f.Src, RelDst: f.RelDst})
	}
	return cfg
}
