package acp

// ReadFileParams are the parameters of a request to read a text file: at most Limit lines, from the line with the number Line on,
// counted from 1. Zero means from the first line, or all lines.
type ReadFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Line      int    `json:"line"`
	Limit     int    `json:"limit"`
}

// ReadFileResult is the answer to a request with [ReadFileParams].
type ReadFileResult struct {
	Content string `json:"content"`
}

// WriteFileParams are the parameters of a request to write a text file.
type WriteFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

// TerminalParams are the parameters of a request to start a command.
type TerminalParams struct {
	SessionID       string     `json:"sessionId"`
	Command         string     `json:"command"`
	Args            []string   `json:"args"`
	Env             []Variable `json:"env"`
	Cwd             string     `json:"cwd"`
	OutputByteLimit int        `json:"outputByteLimit"`
}

// TerminalRef refers to a command that was started, by its ID.
type TerminalRef struct {
	SessionID  string `json:"sessionId,omitempty"`
	TerminalID string `json:"terminalId"`
}

// TerminalOutput is the output of a command so far. If Truncated is true, it has only the last bytes.
type TerminalOutput struct {
	Output    string      `json:"output"`
	Truncated bool        `json:"truncated"`
	Exit      *ExitStatus `json:"exitStatus,omitempty"`
}

// ExitStatus is the exit status of a command: its code or the signal that killed it.
type ExitStatus struct {
	Code   *int    `json:"exitCode"`
	Signal *string `json:"signal"`
}
