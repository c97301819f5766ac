package acp

// ReadFileParams ask for a text file, from a line (counted from 1) on, so many lines.
type ReadFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Line      int    `json:"line"`
	Limit     int    `json:"limit"`
}

// ReadFileResult is its text.
type ReadFileResult struct {
	Content string `json:"content"`
}

// WriteFileParams replace a text file, or make it.
type WriteFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

// TerminalParams start a command.
type TerminalParams struct {
	SessionID       string     `json:"sessionId"`
	Command         string     `json:"command"`
	Args            []string   `json:"args"`
	Env             []Variable `json:"env"`
	Cwd             string     `json:"cwd"`
	OutputByteLimit int        `json:"outputByteLimit"`
}

// TerminalRef names one that was started.
type TerminalRef struct {
	SessionID  string `json:"sessionId,omitempty"`
	TerminalID string `json:"terminalId"`
}

// TerminalOutput is what it printed so far; its last bytes, if Truncated.
type TerminalOutput struct {
	Output    string      `json:"output"`
	Truncated bool        `json:"truncated"`
	Exit      *ExitStatus `json:"exitStatus,omitempty"`
}

// ExitStatus is how a command ended: by its code or by a signal.
type ExitStatus struct {
	Code   *int    `json:"exitCode"`
	Signal *string `json:"signal"`
}
