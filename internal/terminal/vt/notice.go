package vt

// NoticeKind is the kind of a [Notice].
type NoticeKind uint8

// The kinds of notices.
const (
	Title          NoticeKind = iota + 1 // OSC 0 and 2; Text is the title
	IconTitle                            // OSC 0 and 1, ESC k; Text is the name
	Bell                                 // BEL
	WorkDir                              // OSC 7; Text is the URL
	Progress                             // OSC 9;4; Code is the state, Text the percentage as digits or empty
	Clipboard                            // OSC 52; Text is the selection, Payload base64 data or "?"
	SemanticPrompt                       // OSC 133; Text is A, B, C or D, Code the exit status of D or -1, Payload what follows the letter
	ProgramStatus                        // OSC 7501; Payload is what follows the number
	Notification                         // OSC 9 and 777; Text is the body, Payload the heading or empty
)

// String returns the name of k.
func (k NoticeKind) String() string {
	names := [...]string{
		"none", "title", "icon-title", "bell", "work-dir", "progress", "clipboard",
		"semantic-prompt", "program-status", "notification",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Notice is a report of a program to its terminal that is not printed. Kind determines which fields are set. Strings are
// valid UTF-8 unless noted. Payload is unchanged.
type Notice struct {
	Kind    NoticeKind
	Text    string
	Code    int
	Payload string
}
