package agentcli

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Screen is how to read an agent CLI's screen. Rows are matched without a box
// border and with NBSP read as a space. An empty list knows nothing: it never
// matches, and the fact that it stands for is unknown.
type Screen struct {
	InputBox InputBox `toml:"composer"`

	Busy      []Pattern `toml:"busy"`      // a row shows a turn in progress
	Idle      []Pattern `toml:"idle"`      // a row shows that none is
	Ready     []Pattern `toml:"ready"`     // one of these beside the input box: input is really read
	Attention []Pattern `toml:"attention"` // a row asks a person something
	// Loading matches a row that is there while the program may lose what is typed, as
	// while it brings a conversation back: a prompt waits, and so does its Enter.
	Loading []Pattern `toml:"loading"`
	// Limit matches a row that says that the model provider serves nothing for now. Its
	// first group, if it has one, says until when: "3pm", "2 hours", a timestamp.
	Limit []Pattern `toml:"limit"`

	// Retrying matches a row that says that a request to the model failed and is repeated. Its
	// named groups, each optional, are "detail" (the error), "wait" (until the next try, "6s"),
	// "attempt" and "of".
	Retrying []Pattern `toml:"retrying"`
	// Failed matches a row that says why the last turn ended: its named group "detail".
	Failed []Pattern `toml:"failed"`

	TitleBusy      []Pattern `toml:"title_busy"`
	TitleIdle      []Pattern `toml:"title_idle"`
	TitleAttention []Pattern `toml:"title_attention"`

	// MessageMarks: its marks of shell integration (OSC 133) go around messages
	// and not around commands, so they show nothing of what it does.
	MessageMarks bool `toml:"message_marks"`

	// Shell begins an input that the program runs as a shell command ("!"), past
	// every guard; blanks before it do not matter. ShellGuard is put before a prompt
	// that begins so, and keeps it one. Without a guard such a prompt is refused.
	// Empty: no input is a shell command.
	Shell      string `toml:"shell"`
	ShellGuard string `toml:"shell_guard"`

	// Command begins an input that the program may take for a command of its own ("/"),
	// which begins a turn or does not. Empty: no input is one.
	Command string `toml:"command"`
	// UnknownCommand is on one more row when the input box holds a command that the
	// program does not know, which it takes by no Enter. Such a prompt is taken back.
	UnknownCommand []Pattern `toml:"unknown_command"`

	// Input is what the input box changes in a text that is typed.
	Input Input `toml:"input"`

	// Settle says when Enter may follow a paste. The last entry whose MinBytes
	// the text reaches holds; without entries, [DefaultSettle].
	Settle []Settle `toml:"settle"`

	// EnterWhileBusy is what Enter does during a turn.
	EnterWhileBusy BusyEnter `toml:"enter_while_busy"`

	// ClearKey empties the input box ("C-u"); empty if no key is known to.
	ClearKey string `toml:"clear_key"`
	// EndKey moves the cursor behind what the input box holds ("C-e"); empty: it is there,
	// unless a person has moved it.
	EndKey string `toml:"end_key"`
	// InterruptKeys abandon the turn, one after the other. Empty means C-c.
	InterruptKeys []string `toml:"interrupt_keys"`
	// RestoresPrompt: an interrupted prompt comes back into the input box.
	RestoresPrompt bool `toml:"restores_prompt"`
}

// Frame is what surrounds an input box.
type Frame string

// The frames.
const (
	FrameRules Frame = "rules" // between two horizontal rules
	FrameBox   Frame = "box"   // inside a box with a border
	FrameOpen  Frame = "open"  // nothing; a blank row ends it
	FrameLine  Frame = "line"  // the cursor's own row, as in a shell
)

// InputBox is where an agent CLI takes input.
type InputBox struct {
	Frame Frame `toml:"frame"` // empty: no input box can be recognised
	// Marks begin its first row ("❯"); the rest of the row is content. Empty
	// means content from the first column on, for frames with two edges.
	Marks []string `toml:"marks"`
	// Placeholders match content that the program shows while the input box is empty.
	// Dim and gray text counts as a suggestion without being listed, where
	// cells are known.
	Placeholders []Pattern `toml:"ghosts"`
	// Pasted match what stands for a long paste ("[Pasted text #1 +9 lines]").
	Pasted []Pattern `toml:"pasted"`
	// PlainEdges: a rule that frames the input box and holds text means that the
	// program is not idle.
	PlainEdges bool `toml:"plain_edges"`
	// Scrolls: content may be taller than the input box, which shows a part.
	Scrolls bool `toml:"scrolls"`
}

// Settle is the pause between a paste and its Enter, counted from the moment
// when the paste was seen on the screen.
type Settle struct {
	MinBytes int `toml:"min_bytes"` // holds for texts of at least so many bytes
	DelayMs  int `toml:"delay_ms"`  // wait at least so long
	QuietMs  int `toml:"quiet_ms"`  // and until the input box did not change for so long
}

// DefaultSettle returns the safe rule for a program about which nothing is known:
// Enter when the screen has been quiet for 150 ms after the echo.
func DefaultSettle() Settle { return Settle{QuietMs: 150} }

// FindSettle returns the rule for a text of n bytes.
func (s Screen) FindSettle(n int) Settle {
	found := DefaultSettle()
	for _, rule := range s.Settle {
		if n >= rule.MinBytes {
			found = rule
		}
	}
	return found
}

// BusyEnter is what Enter does during a turn.
type BusyEnter string

// The meanings. The empty one is unknown: the text is treated as queued.
const (
	BusyQueues  BusyEnter = "queue"   // the text waits for the end of the turn
	BusyMerges  BusyEnter = "merge"   // the text waits, and all that wait become one prompt: none is typed during a turn
	BusySteers  BusyEnter = "steer"   // the text joins the turn
	BusyIgnores BusyEnter = "ignored" // the text is lost or refused
)

// Pattern is a compiled regular expression (RE2). The zero value matches
// nothing.
type Pattern struct{ re *regexp.Regexp }

// NewPattern compiles a regular expression.
func NewPattern(text string) (Pattern, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return Pattern{}, fmt.Errorf("cannot compile pattern: %w", err)
	}
	return Pattern{re}, nil
}

// Match reports whether the pattern matches a part of s.
func (p Pattern) Match(s string) bool { return p.re != nil && p.re.MatchString(s) }

// Find returns the first group of the match in s, or all of it without groups.
func (p Pattern) Find(s string) (text string, ok bool) {
	if p.re == nil {
		return "", false
	}
	found := p.re.FindStringSubmatch(s)
	if found == nil {
		return "", false
	}
	return found[min(1, len(found)-1)], true
}

// Replace returns s with every match replaced by with, literally.
func (p Pattern) Replace(s, with string) string {
	if p.re == nil {
		return s
	}
	return p.re.ReplaceAllLiteralString(s, with)
}

func (p Pattern) String() string {
	if p.re == nil {
		return ""
	}
	return p.re.String()
}

// MarshalText writes the expression.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText compiles the expression; an empty one is an error, since it
// would match everything.
func (p *Pattern) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("a pattern must not be empty")
	}
	compiled, err := NewPattern(string(text))
	if err != nil {
		return err
	}
	*p = compiled
	return nil
}

// MatchAny reports whether one of the patterns matches a part of s.
func MatchAny(patterns []Pattern, s string) bool {
	for _, p := range patterns {
		if p.Match(s) {
			return true
		}
	}
	return false
}

// Prompt returns what to put into the input box so that the text is a prompt and
// not a shell command; ok is false if nothing is known that would do.
func (s Screen) Prompt(text string) (line string, ok bool) {
	if !s.IsShell(text) {
		return text, true
	}
	return s.ShellGuard + text, s.ShellGuard != ""
}

// byteOrderMark does not arrive at the beginning of a text that a program decodes with it.
const byteOrderMark = '\ufeff'

// IsShell reports whether the program would run the text as a shell command.
func (s Screen) IsShell(text string) bool {
	return s.Shell != "" && strings.HasPrefix(strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == byteOrderMark }), s.Shell)
}

// IsCommand reports whether the program may take the text for a command of its own.
func (s Screen) IsCommand(text string) bool {
	return s.Command != "" && strings.HasPrefix(strings.TrimSpace(text), s.Command)
}
