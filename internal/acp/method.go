package acp

// The protocol versions that this package supports. Version 2 is a draft; its documents of November 2026 are used.
const (
	Version      = 1
	VersionDraft = 2
)

// The methods of an agent.
const (
	MethodInitialize   = "initialize"
	MethodAuthenticate = "authenticate"
	MethodNew          = "session/new"
	MethodLoad         = "session/load"
	MethodResume       = "session/resume"
	MethodPrompt       = "session/prompt"
	MethodCancel       = "session/cancel" // a notification
	MethodSetMode      = "session/set_mode"
)

// The methods of an agent that differ in the draft. They replace authenticate and session/set_mode. The draft has no
// session/load.
const (
	MethodLogin     = "auth/login"
	MethodSetOption = "session/set_config_option"
)

// The methods of a client.
const (
	MethodUpdate          = "session/update" // a notification
	MethodPermission      = "session/request_permission"
	MethodReadFile        = "fs/read_text_file"
	MethodWriteFile       = "fs/write_text_file"
	MethodTerminalCreate  = "terminal/create"
	MethodTerminalOutput  = "terminal/output"
	MethodTerminalWait    = "terminal/wait_for_exit"
	MethodTerminalKill    = "terminal/kill"
	MethodTerminalRelease = "terminal/release"
	MethodCancelRequest   = "$/cancel_request" // a notification, for both sides
)
