package vt

// NoticeKind is the kind of a [Notice].
type NoticeKind uint8

// The kinds of notices.
const (
	Title          NoticeKind = iota + 1 // OSC 0 and 2; Text is the title
	Progress                             // OSC 9;4; Text is the state, 0 to 4, and the percentage after a semicolon
	SemanticPrompt                       // OSC 133; Text is A, B, C or D
	ProgramStatus                        // OSC 7501; Text is what follows the number, as the program has sent it
)

// Notice is a report of a program to its terminal that is not printed.
type Notice struct {
	Kind NoticeKind
	Text string
}
