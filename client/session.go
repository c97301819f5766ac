package client

import "time"

// Session is everything that is known of one session: what `gc session show`
// prints.
type Session struct {
	Agent
	WorkDir      string            `json:"work_dir,omitempty"`
	Command      string            `json:"command,omitempty"` // without the prompt
	Title        string            `json:"title,omitempty"`
	Meta         map[string]string `json:"meta,omitempty"`
	Fingerprints map[string]string `json:"fingerprints,omitempty"` // "core", "provision", "launch", "live"
	LastScreen   string            `json:"last_screen,omitempty"`  // of an agent that has exited
	Processes    []Process         `json:"processes,omitempty"`    // the session's process tree, parents first
}

// Process is one process of a session.
type Process struct {
	PID     int    `json:"pid"`
	PPID    int    `json:"ppid"`
	Command string `json:"command"`
	State   string `json:"state"`
}

// Output is captured text.
type Output struct {
	Session string `json:"session"`
	Text    string `json:"text"`
}

// NudgeRequest is a prompt for an agent.
type NudgeRequest struct {
	Text     string        `json:"text"`
	Instance string        `json:"instance,omitempty"` // only for this incarnation; see Agent.Instance
	Confirm  time.Duration `json:"confirm_ns,omitempty"`
}

// NudgeResult is what became of a prompt, see runtime.Outcome for the words.
type NudgeResult struct {
	Session  string `json:"session"`
	State    string `json:"state"` // submitted, unconfirmed, refused, absent, unsupported
	Reason   string `json:"reason,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// KeysRequest are key events by tmux name.
type KeysRequest struct {
	Keys []string `json:"keys"`
}

// CopyRequest copies a file or folder of the controller's machine into a
// session's work folder.
type CopyRequest struct {
	Src    string `json:"src"` // absolute
	RelDst string `json:"rel_dst,omitempty"`
}

// Done answers a verb: what was changed, or why nothing was.
type Done struct {
	Session string `json:"session,omitempty"`
	Changed bool   `json:"changed"`
	Detail  string `json:"detail,omitempty"`
}

// Census counts what a stop found and ended.
type Census struct {
	Sessions []StopResult `json:"sessions"`
	Clean    bool         `json:"clean"` // nothing survived
}

// StopResult is the end of one session.
type StopResult struct {
	Session   string  `json:"session"`
	Agent     string  `json:"agent,omitempty"`
	Processes int     `json:"processes"` // found when the stop began
	Survivors []int   `json:"survivors,omitempty"`
	Seconds   float64 `json:"seconds"`
	Error     string  `json:"error,omitempty"`
}
