package agentcli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Screen says how gc reads the screen of an agent CLI. Patterns are compared with one row at a
// time, without the border of a box; a no-break space counts as a space. An empty list matches
// nothing, so gc does not detect the state that it is for.
type Screen struct {
	InputBox InputBox `toml:"composer"`

	Busy      []Pattern `toml:"busy"`      // a row that shows a running turn
	Idle      []Pattern `toml:"idle"`      // a row that shows that no turn is running
	Ready     []Pattern `toml:"ready"`     // needed in addition to the input box before input is accepted
	Attention []Pattern `toml:"attention"` // a row that asks a person a question
	// Loading matches a row that is shown while the program may lose typed text, for example while
	// it loads a conversation. Meanwhile gc sends no prompt and no Enter.
	Loading []Pattern `toml:"loading"`
	// Limit matches a row that shows that the model provider serves no requests for now. Its
	// optional first group is the end of the limit: "3pm", "2 hours", a timestamp.
	Limit []Pattern `toml:"limit"`

	// Retrying matches a row that shows that a request to the model failed and is repeated. Its
	// optional named groups are "detail" (the error), "wait" (time until the next attempt, "6s"),
	// "attempt" and "of".
	Retrying []Pattern `toml:"retrying"`
	// Failed matches a row that shows why the last turn failed, in its named group "detail".
	Failed []Pattern `toml:"failed"`
	// Hints matches a row between the conversation and the input box that is not part of the
	// conversation, such as the permission mode. When gc looks for the error of the last turn, it
	// ignores a paragraph with such a row.
	Hints []Pattern `toml:"hints"`

	TitleBusy      []Pattern `toml:"title_busy"`
	TitleIdle      []Pattern `toml:"title_idle"`
	TitleAttention []Pattern `toml:"title_attention"`

	// MessageMarks means that its shell integration marks (OSC 133) enclose messages and not
	// commands, so they do not show its activity.
	MessageMarks bool `toml:"message_marks"`

	// Shell is the prefix of an input that the program runs as a shell command ("!"), without any
	// guard; blanks before it are ignored. gc puts ShellGuard before a prompt with this prefix, so
	// that it stays a prompt. Without a guard gc refuses such a prompt. Empty: no input is a shell
	// command.
	Shell      string `toml:"shell"`
	ShellGuard string `toml:"shell_guard"`

	// Command is the prefix of an input that may be a command of the program ("/"), which may or
	// may not start a turn. Empty: no input is a command.
	Command string `toml:"command"`
	// UnknownCommand matches an additional row when the input box holds a command that the program
	// does not know. No Enter submits such a prompt, so gc removes it.
	UnknownCommand []Pattern `toml:"unknown_command"`

	// Input describes how the input box changes a text that is typed.
	Input Input `toml:"input"`

	// Settle are the rules for when Enter may follow a paste. The last entry whose MinBytes is not
	// above the size of the text applies; without entries, [DefaultSettle].
	Settle []Settle `toml:"settle"`

	// EnterWhileBusy is the effect of Enter during a turn.
	EnterWhileBusy BusyEnter `toml:"enter_while_busy"`

	// ClearKey is the key that empties the input box ("C-u"); empty if no such key is known.
	ClearKey string `toml:"clear_key"`
	// EndKey is the key that moves the cursor to the end of the text in the input box ("C-e").
	// Empty: the cursor is at the end unless a person has moved it.
	EndKey string `toml:"end_key"`
	// InterruptKeys are the keys that interrupt the turn, sent one after the other. Empty means
	// C-c.
	InterruptKeys []string `toml:"interrupt_keys"`
	// RestoresPrompt means that the text of an interrupted prompt returns into the input box.
	RestoresPrompt bool `toml:"restores_prompt"`
}

// Frame says what surrounds the input box of an agent CLI.
type Frame string

// The frames.
const (
	FrameRules Frame = "rules" // between two horizontal rules
	FrameBox   Frame = "box"   // inside a box with a border
	FrameOpen  Frame = "open"  // no border; a blank row ends it
	FrameLine  Frame = "line"  // the cursor's own row, as in a shell
)

// InputBox says where on the screen an agent CLI accepts input.
type InputBox struct {
	Frame Frame `toml:"frame"` // empty: gc cannot recognize the input box
	// Marks are the possible beginnings of its first row ("❯"); the rest of the row is content.
	// Empty means that content starts in the first column, for frames with two edges.
	Marks []string `toml:"marks"`
	// Placeholders match content that the program shows while the input box is empty. Where cells
	// are known, dim and gray text counts as a suggestion and need not be listed.
	Placeholders []Pattern `toml:"ghosts"`
	// Pasted match the text that replaces a long paste ("[Pasted text #1 +9 lines]").
	Pasted []Pattern `toml:"pasted"`
	// PlainEdges means that the program is not idle if a rule that frames the input box contains
	// text.
	PlainEdges bool `toml:"plain_edges"`
	// Scrolls means that the content may be taller than the input box, which then shows a part of
	// it.
	Scrolls bool `toml:"scrolls"`
}

// Settle says how long gc waits between pasting a text and Enter. The wait begins when the text is
// on the screen.
type Settle struct {
	MinBytes int `toml:"min_bytes"` // applies to texts of at least so many bytes
	DelayMs  int `toml:"delay_ms"`  // minimum wait
	QuietMs  int `toml:"quiet_ms"`  // and time without a change of the input box
}

// DefaultSettle returns the wait for an unknown program: until the screen has not changed for 150
// ms.
func DefaultSettle() Settle { return Settle{QuietMs: 150} }

// FindSettle returns how long gc waits after it has sent a text of n bytes, before it presses Enter: the last rule whose MinBytes
// is at most n, or the default.
func (s Screen) FindSettle(n int) Settle {
	found := DefaultSettle()
	for _, rule := range s.Settle {
		if n >= rule.MinBytes {
			found = rule
		}
	}
	return found
}

// BusyEnter says what Enter does with a text in the input box while a turn is running.
type BusyEnter string

// The effects. If it is not known (empty), gc assumes that the text waits.
const (
	BusyQueues  BusyEnter = "queue"   // the text waits for the end of the turn
	BusyMerges  BusyEnter = "merge"   // waiting texts become one prompt, so gc types none during a turn
	BusySteers  BusyEnter = "steer"   // the text joins the turn
	BusyIgnores BusyEnter = "ignored" // the text is lost or refused
)

// Pattern is a compiled regular expression in the syntax RE2. The zero value matches nothing.
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

// Find returns what the first group of the pattern matches at its first match in s, or the whole
// match if the pattern has no group; ok is false if it does not match.
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

// Replace returns s with every match replaced by the literal text with.
func (p Pattern) Replace(s, with string) string {
	if p.re == nil {
		return s
	}
	return p.re.ReplaceAllLiteralString(s, with)
}

// String returns the regular expression as text.
func (p Pattern) String() string {
	if p.re == nil {
		return ""
	}
	return p.re.String()
}

// MarshalText returns the regular expression as text. It implements encoding.TextMarshaler.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText compiles a regular expression. An empty one is an error, because it would match
// every text. It implements encoding.TextUnmarshaler.
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
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Match(s) })
}

// Prompt returns what gc types for the prompt text: usually the text itself. If the program would
// run it as a shell command, the result has something in front that prevents this; ok is false if
// nothing is known that does.
func (s Screen) Prompt(text string) (line string, ok bool) {
	if !s.IsShell(text) {
		return text, true
	}
	return s.ShellGuard + text, s.ShellGuard != ""
}

// byteOrderMark is a character that some programs remove from the beginning of a text.
const byteOrderMark = '\ufeff'

// IsShell reports whether the program would run a text as a shell command.
func (s Screen) IsShell(text string) bool {
	return s.Shell != "" && strings.HasPrefix(strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == byteOrderMark }), s.Shell)
}

// IsCommand reports whether the program may take a text as one of its own commands and not as a
// prompt.
func (s Screen) IsCommand(text string) bool {
	return s.Command != "" && strings.HasPrefix(strings.TrimSpace(text), s.Command)
}
