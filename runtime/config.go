package runtime

import (
	"encoding/json"
	"maps"
)

// Lifecycle is the expected lifetime of an agent's command.
type Lifecycle string

// LifecycleOneShot marks a command that does limited work and exits. A start does not wait for
// readiness, handle dialogs or run the set-up after creation, and an exit during start-up is not a
// failure. The empty Lifecycle is a long-lived session.
const LifecycleOneShot Lifecycle = "one_shot"

// Config holds the parameters of one start. The zero value is valid: it starts a default shell in
// the driver's directory and does not wait for it. [Fields] lists the effect of a change of each
// field on a running session.
type Config struct {
	// WorkDir is the absolute path of the agent's working directory. It must exist after PreStart
	// has run, or the start fails. Empty means the driver's own directory.
	WorkDir string

	// Command is the shell command to run. Empty means a default shell.
	Command string

	// Lifecycle is empty for a long-lived session.
	Lifecycle Lifecycle

	// Upstream is the service that provides the model ("anthropic", "bedrock", "proxy:<name>"). Its
	// credentials and addresses are in Env and are never hashed.
	Upstream string

	// Env is added to the driver's base environment. An empty value unsets the
	// variable.
	Env map[string]string

	// MCPServers is the list for an ACP session/new. Other drivers ignore it.
	MCPServers []MCPServerConfig

	// StartupEnvelope is start-up metadata for bridges. It is never hashed.
	StartupEnvelope json.RawMessage

	// ReadyPromptPrefix is the beginning of the screen line that shows that the
	// agent is ready ("> "). Empty skips the wait.
	ReadyPromptPrefix string

	// ReadyDelayMs is how long to wait, in milliseconds, when there is no
	// ReadyPromptPrefix, and how far to extend the wait when there is one.
	ReadyDelayMs int

	// ProcessNames are the agent's expected process names.
	ProcessNames []string

	// EmitsPermissionWarning reports that the agent shows a permission dialog.
	EmitsPermissionWarning bool

	// AcceptStartupDialogs turns the handling of known dialogs on or off. Nil
	// means on when ProcessNames or EmitsPermissionWarning is set.
	AcceptStartupDialogs *bool

	// MouseOn keeps the multiplexer's mouse mode on.
	MouseOn bool

	// Nudge is delivered as the first prompt once the agent is ready.
	Nudge string

	// PreStart are shell commands run in order before the session is created,
	// where the agent will run. A failure aborts the start.
	PreStart []string

	// SessionSetup are shell commands run in order after the agent is ready, in
	// gc's process with sh -c. A failure is a warning.
	SessionSetup []string

	// SessionSetupScript is a script run after SessionSetup, with GC_SESSION
	// and the other GC_ variables set.
	SessionSetupScript string

	// SessionLive are idempotent shell commands run at the end of a start and
	// again whenever they change.
	SessionLive []string

	// ProviderName is the agent CLI family that start-up behaviour follows
	// ("claude", "codex").
	ProviderName string

	// ProviderOverlayName is the concrete name that selects per-provider
	// overlays. Empty means ProviderName.
	ProviderOverlayName string

	// InstallAgentHooks lists more agent CLIs whose per-provider/<name>/ overlays are also copied.
	InstallAgentHooks []string

	// PackOverlayDirs are the overlay directories of packs, copied before OverlayDir.
	PackOverlayDirs []string

	// OverlayDir is the agent's own overlay directory. Empty means none.
	OverlayDir string

	// CopyFiles are copied into the working directory before the command runs.
	CopyFiles []CopyEntry

	// FingerprintExtra is hashed into the fingerprint and has no other effect.
	FingerprintExtra map[string]string

	// PromptSuffix is the shell-quoted first prompt, appended to Command. It contains timestamps
	// and is never hashed.
	PromptSuffix string

	// PromptFlag is the flag put before PromptSuffix ("--prompt"). Empty means a
	// positional argument.
	PromptFlag string
}

// MCPServerConfig is one server of an ACP session. Transport "stdio" (the
// default) uses Command, Args and Env; "http" and "sse" use URL and Headers.
type MCPServerConfig struct {
	Name      string            `json:"name"`
	Transport string            `json:"transport,omitempty"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	URL       string            `json:"url,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
}

// WantsManagedStart reports whether cfg has any hint that makes a start wait, observe or run
// something after the creation of the session.
func (cfg Config) WantsManagedStart() bool {
	return cfg.ReadyPromptPrefix != "" || cfg.ReadyDelayMs > 0 || len(cfg.ProcessNames) > 0 ||
		cfg.EmitsPermissionWarning || cfg.AcceptStartupDialogs != nil || cfg.Nudge != "" ||
		len(cfg.PreStart) > 0 || len(cfg.SessionSetup) > 0 || cfg.SessionSetupScript != "" || len(cfg.SessionLive) > 0
}

// WantsDialogs reports whether the start handles known start-up dialogs.
func (cfg Config) WantsDialogs() bool {
	if cfg.AcceptStartupDialogs != nil {
		return *cfg.AcceptStartupDialogs
	}
	return len(cfg.ProcessNames) > 0 || cfg.EmitsPermissionWarning
}

// LaunchCommand returns Command with the prompt appended: "command [flag]
// suffix". An empty Command stays empty, whatever the prompt.
func (cfg Config) LaunchCommand() string {
	if cfg.Command == "" || cfg.PromptSuffix == "" {
		return cfg.Command
	}
	if cfg.PromptFlag != "" {
		return cfg.Command + " " + cfg.PromptFlag + " " + cfg.PromptSuffix
	}
	return cfg.Command + " " + cfg.PromptSuffix
}

// SyncWorkDirEnv returns cfg with GC_DIR set to WorkDir. It copies Env before the change, so that a
// shared template is not changed. An empty WorkDir changes nothing.
func SyncWorkDirEnv(cfg Config) Config {
	if cfg.WorkDir == "" || cfg.Env["GC_DIR"] == cfg.WorkDir {
		return cfg
	}
	env := make(map[string]string, len(cfg.Env)+1)
	maps.Copy(env, cfg.Env)
	env["GC_DIR"] = cfg.WorkDir
	cfg.Env = env
	return cfg
}
