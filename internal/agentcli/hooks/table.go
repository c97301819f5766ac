package hooks

import (
	_ "embed" // the programs that agent CLIs load
	"time"
)

//go:embed city.js
var cityScript string

//go:embed pi.ts
var piScript string

//go:embed opencode.js
var opencodeScript string

//go:embed opencode-terminal.js
var opencodeTerminalScript string

// table returns the data about all agent CLIs, measured with the versions in the profiles.
func table() []CLI {
	return []CLI{
		{
			Name: "claude", Form: FormSpecific, Unit: time.Second, File: "claude-settings.json", Usage: CodecBlocks, Pasted: "pasted_content",
			ReadsFiles: true,
			Reads: func(folder string) map[string]any { // "//" starts an absolute path
				return map[string]any{"permissions": map[string]any{"allow": []string{"Read(/" + folder + "/**)"}}}
			},
			Args:           []string{"--settings", MarkFile},
			ContextSources: []string{SourceStartup, SourceResume, SourceClear, SourceCompact}, ContextLimit: 9000, // longer context is replaced by a file with a preview
			Events: []Event{
				{"SessionStart", Begin},
				{"UserPromptSubmit", Prompt},
				{"PreToolUse", Guard},
				{"PermissionRequest", Ask},
				{"PostToolUse", Tool},
				{"PostToolUseFailure", Tool}, // for a tool that ran and failed; not called for a denied tool
				{"PostCompact", Compacted},
				{"Notification", Notice},
				{"Stop", Turn},           // not called after an interrupt or an API error
				{"StopFailure", Failure}, // not called if a person interrupts the retries
				{"SessionEnd", End},
			},
		},
		{
			Name: "codex", Form: FormSpecific, Unit: time.Second, File: "hooks.json", Usage: CodecRollout, Late: true,
			// Its configuration directory has the user's login, so the hooks are passed as
			// configuration arguments. Its daemon would run the hooks of all sessions with the same
			// environment.
			Args:           []string{"--no-daemon", "--dangerously-bypass-hook-trust", "-c", MarkHooks},
			ContextSources: []string{SourceStartup, SourceResume, SourceClear, SourceCompact}, ContextLimit: 9000,
			Events: []Event{
				{"SessionStart", Begin},
				{"UserPromptSubmit", Prompt}, // also for a prompt that steers a turn
				{"PreToolUse", Guard},
				{"PermissionRequest", Ask},
				{"PostToolUse", Tool},
				{"PostCompact", Compacted},
				{"Interrupt", Interrupt},
				{"Stop", Turn},
				{"SessionEnd", End},
			},
		},
		{
			Name: "gemini", Form: FormPlain, Unit: time.Millisecond, File: "gemini-settings.json", Usage: CodecFolded,
			Env: map[string]string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH": MarkFile}, RootOnly: true,
			// Its cleanup of old conversations treats a file beside a loaded conversation as
			// broken, and deletes the conversation with it.
			Also:           map[string]any{"general": map[string]any{"sessionRetention": map[string]any{"enabled": false}}},
			ContextSources: []string{SourceStartup, SourceResume, SourceClear, SourceCompact}, ContextLimit: 9000, WithPrompt: true,
			Events: []Event{ // without AfterModel and PreCompress, which are called for each chunk and each call
				{"SessionStart", Begin},
				{"BeforeAgent", Prompt},
				{"BeforeTool", Guard},
				{"AfterTool", Tool},
				{"AfterAgent", Turn}, // also called after a cancel
				{"SessionEnd", End},  // called up to three times
			},
		},
		{Name: "pi", Form: FormPlain, File: "gascity.ts", Script: cityScript + "\n" + piScript, Args: []string{"-e", MarkFile}},
		{
			Name: "opencode", Form: FormPlain, File: "plugin/gascity.js", Script: cityScript + "\n" + opencodeScript,
			Beside: map[string]string{ // a file must name a plugin of the terminal client; plugins in plugin/ run in the server
				"tui.json": `{"plugin":["./gascity-terminal.js"]}` + "\n", "gascity-terminal.js": cityScript + "\n" + opencodeTerminalScript,
			},
			Env: map[string]string{"OPENCODE_CONFIG_DIR": MarkDir},
		},
	}
}
