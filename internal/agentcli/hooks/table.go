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

// table is everything that is known, measured with the versions that the profiles name.
func table() []CLI {
	return []CLI{
		{
			Name: "claude", Form: FormSpecific, Unit: time.Second, File: "claude-settings.json", Usage: CodecBlocks, Pasted: "pasted_content",
			ReadsFiles: true,
			Reads: func(folder string) map[string]any { // "//" begins a path from the root
				return map[string]any{"permissions": map[string]any{"allow": []string{"Read(/" + folder + "/**)"}}}
			},
			Args:           []string{"--settings", MarkFile},
			ContextSources: []string{SourceStartup, SourceResume, SourceClear, SourceCompact}, ContextLimit: 9000, // more becomes a file with a preview
			Events: []Event{
				{"SessionStart", Begin},
				{"UserPromptSubmit", Prompt},
				{"PreToolUse", Guard},
				{"PermissionRequest", Ask},
				{"PostToolUse", Tool},
				{"PostToolUseFailure", Tool}, // of a tool that ran and failed; it is not called for one that was denied
				{"PostCompact", Compacted},
				{"Notification", Notice},
				{"Stop", Turn},           // not after an interrupt, nor after an error of the API
				{"StopFailure", Failure}, // not if a person gave up while it was tried again
				{"SessionEnd", End},
			},
		},
		{
			Name: "codex", Form: FormSpecific, Unit: time.Second, File: "hooks.json", Usage: CodecRollout, Late: true,
			// Its own folder has the user's login: the hooks are given as configuration.
			// Its daemon would run the hooks of all sessions, with one environment.
			Args:           []string{"--no-daemon", "--dangerously-bypass-hook-trust", "-c", MarkHooks},
			ContextSources: []string{SourceStartup, SourceResume, SourceClear, SourceCompact}, ContextLimit: 9000,
			Events: []Event{
				{"SessionStart", Begin},
				{"UserPromptSubmit", Prompt}, // also of a prompt that steers a turn
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
			// Its clean-up of old conversations takes the file that a loaded one leaves beside it for
			// a broken one, and deletes the conversation with it.
			Also:           map[string]any{"general": map[string]any{"sessionRetention": map[string]any{"enabled": false}}},
			ContextSources: []string{SourceStartup, SourceResume, SourceClear, SourceCompact}, ContextLimit: 9000, WithPrompt: true,
			Events: []Event{ // never AfterModel and PreCompress: each chunk and each call
				{"SessionStart", Begin},
				{"BeforeAgent", Prompt},
				{"BeforeTool", Guard},
				{"AfterTool", Tool},
				{"AfterAgent", Turn}, // also after a cancel
				{"SessionEnd", End},  // up to three times
			},
		},
		{Name: "pi", Form: FormPlain, File: "gascity.ts", Script: cityScript + "\n" + piScript, Args: []string{"-e", MarkFile}},
		{
			Name: "opencode", Form: FormPlain, File: "plugin/gascity.js", Script: cityScript + "\n" + opencodeScript,
			Beside: map[string]string{ // a plugin of the terminal has to be named in a file, and one in plugin/ would be one of the server
				"tui.json": `{"plugin":["./gascity-terminal.js"]}` + "\n", "gascity-terminal.js": cityScript + "\n" + opencodeTerminalScript,
			},
			Env: map[string]string{"OPENCODE_CONFIG_DIR": MarkDir},
		},
	}
}
