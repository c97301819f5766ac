package agentcli

import (
	_ "embed" // the programs that agent CLIs load
	"time"
)

//go:embed hookscripts/city.js
var cityScript string

//go:embed hookscripts/pi.ts
var piScript string

//go:embed hookscripts/opencode.js
var opencodeScript string

//go:embed hookscripts/opencode-terminal.js
var opencodeTerminalScript string

// hookTable returns the data about the hooks of all agent CLIs. It was measured with the versions
// in their profiles.
func hookTable() []Hooks {
	return []Hooks{
		{
			Name: "claude", Form: HookFormSpecific, Unit: time.Second, File: "claude-settings.json", Usage: TranscriptBlocks, Pasted: "pasted_content",
			ReadsFiles: true,
			Reads: func(folder string) map[string]any { // "//" starts an absolute path
				return map[string]any{"permissions": map[string]any{"allow": []string{"Read(/" + folder + "/**)"}}}
			},
			Args:           []string{"--settings", HookMarkFile},
			ContextSources: []string{HookSourceStartup, HookSourceResume, HookSourceClear, HookSourceCompact}, ContextLimit: 9000, // longer context is replaced by a file with a preview
			Events: []HookEvent{
				{"SessionStart", HookBegin},
				{"UserPromptSubmit", HookPrompt},
				{"PreToolUse", HookGuard},
				{"PermissionRequest", HookAsk},
				{"PostToolUse", HookTool},
				{"PostToolUseFailure", HookTool}, // for a tool that ran and failed; not called for a denied tool
				{"PostCompact", HookCompacted},
				{"Notification", HookNotice},
				{"Stop", HookTurn},           // not called after an interrupt or an API error
				{"StopFailure", HookFailure}, // not called if a person interrupts the retries
				{"SessionEnd", HookEnd},
			},
		},
		{
			Name: "codex", Form: HookFormSpecific, Unit: time.Second, File: "hooks.json", Usage: TranscriptRollout, Late: true,
			// Its configuration directory has the user's login, so the hooks are passed as
			// configuration arguments. Its daemon would run the hooks of all sessions with the same
			// environment.
			Args:           []string{"--no-daemon", "--dangerously-bypass-hook-trust", "-c", HookMarkHooks},
			ContextSources: []string{HookSourceStartup, HookSourceResume, HookSourceClear, HookSourceCompact}, ContextLimit: 9000,
			Events: []HookEvent{
				{"SessionStart", HookBegin},
				{"UserPromptSubmit", HookPrompt}, // also for a prompt that steers a turn
				{"PreToolUse", HookGuard},
				{"PermissionRequest", HookAsk},
				{"PostToolUse", HookTool},
				{"PostCompact", HookCompacted},
				{"Interrupt", HookInterrupt},
				{"Stop", HookTurn},
				{"SessionEnd", HookEnd},
			},
		},
		{
			Name: "gemini", Form: HookFormPlain, Unit: time.Millisecond, File: "gemini-settings.json", Usage: TranscriptFolded,
			Env: map[string]string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH": HookMarkFile}, RootOnly: true,
			// Its cleanup of old conversations treats a file beside a loaded conversation as
			// broken, and deletes the conversation with it.
			Also:           map[string]any{"general": map[string]any{"sessionRetention": map[string]any{"enabled": false}}},
			ContextSources: []string{HookSourceStartup, HookSourceResume, HookSourceClear, HookSourceCompact}, ContextLimit: 9000, WithPrompt: true,
			Events: []HookEvent{ // without AfterModel and PreCompress, which are called for each chunk and each call
				{"SessionStart", HookBegin},
				{"BeforeAgent", HookPrompt},
				{"BeforeModel", HookRequest}, // its screen does not show a request that it repeats
				{"BeforeTool", HookGuard},
				{"AfterTool", HookTool},
				{"AfterAgent", HookTurn}, // also called after a cancel
				{"SessionEnd", HookEnd},  // called up to three times
			},
		},
		{Name: "pi", Form: HookFormPlain, File: "gascity.ts", Script: cityScript + "\n" + piScript, Args: []string{"-e", HookMarkFile}},
		{
			Name: "opencode", Form: HookFormPlain, File: "plugin/gascity.js", Script: cityScript + "\n" + opencodeScript,
			Beside: map[string]string{ // a file must name a plugin of the terminal client; plugins in plugin/ run in the server
				"tui.json": `{"plugin":["./gascity-terminal.js"]}` + "\n", "gascity-terminal.js": cityScript + "\n" + opencodeTerminalScript,
			},
			Env: map[string]string{"OPENCODE_CONFIG_DIR": HookMarkDir},
		},
	}
}
