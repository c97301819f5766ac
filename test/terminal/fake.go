// Package terminal has doubles of terminals for tests: a screen that a test paints, a
// program with an input box that lives in memory, and the fake agent on a real pseudo
// terminal.
package terminal

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
)

// The size of the terminals.
const (
	Cols = 100
	Rows = 30
)

// Fake is a screen.Terminal over a screen model. It is safe for concurrent use.
type Fake struct {
	mu      sync.Mutex
	screen  *vt.Screen
	frame   screen.Frame
	printed bool // the screen has changed since its rows were read into frame
	changed chan struct{}

	Sent    [][]byte       // the input, piece by piece
	Program func(p []byte) // gets the input; nil: no receiver
}

// New returns an empty terminal in raw mode.
func New() *Fake {
	f := &Fake{changed: make(chan struct{})}
	f.screen = vt.New(Cols, Rows, nil)
	f.frame.Line = screen.LineRaw
	f.Print("")
	return f
}

// Print is output of the program.
func (f *Fake) Print(text string) {
	f.Set(func(fr *screen.Frame) {
		_, _ = f.screen.Write([]byte(text)) // a screen takes everything
		if text != "" {
			fr.LastOutput = time.Now()
		}
		fr.Cursor, fr.Modes, fr.Title = f.screen.Cursor(), f.screen.Modes(), f.screen.Title()
		f.printed = true
	})
}

// readLocked reads the rows of the screen into the frame. A program prints more often than
// somebody looks.
func (f *Fake) readLocked() {
	if !f.printed {
		return
	}
	f.printed = false
	rows := f.screen.Rows()
	cells := make([][]vt.Cell, len(rows))
	for y, row := range rows {
		if row != "" { // the cells of an empty row show nothing
			cells[y] = f.screen.Row(y)
		}
	}
	f.frame.Rows, f.frame.Cells = rows, func(y int) []vt.Cell { return cells[y] }
}

// Set changes the frame.
func (f *Fake) Set(change func(*screen.Frame)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.frame)
	f.frame.Seq++
	close(f.changed)
	f.changed = make(chan struct{})
}

// Frame implements screen.Terminal.
func (f *Fake) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	for {
		f.mu.Lock()
		if f.frame.Seq > after || f.frame.Exited {
			f.readLocked()
		}
		fr, changed := f.frame, f.changed
		f.mu.Unlock()
		if fr.Seq > after || fr.Exited {
			return fr, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return screen.Frame{}, ctx.Err()
		}
	}
}

// Send implements screen.Terminal.
func (f *Fake) Send(_ context.Context, p []byte) error {
	f.mu.Lock()
	f.Sent = append(f.Sent, slices.Clone(p))
	program := f.Program
	f.mu.Unlock()
	if program != nil {
		program(p)
	}
	return nil
}

// Input returns everything that was sent.
func (f *Fake) Input() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(slices.Concat(f.Sent...))
}

// Human is a person typing at an attached terminal.
func (f *Fake) Human(p string) {
	f.Set(func(fr *screen.Frame) { fr.LastHuman, fr.Attached = time.Now(), 1 })
	f.Program([]byte(p))
}

// Face is what a fake agent draws like.
type Face struct {
	Style        string        // rules, open, line, plain
	DropEnters   int           // swallow so many
	Newline      time.Duration // an Enter so soon after text is a newline
	Echo         time.Duration // how late text is shown
	React        time.Duration // how late Enter acts
	Think        time.Duration // how long a turn takes
	BusyLate     time.Duration // how late the screen shows a turn
	Placeholder  int           // a paste of at least so many bytes is shown by a placeholder
	Suggestion   string        // shown while the box is empty
	NoPaste      bool          // does not ask for bracketed paste
	IgnoreInput  bool          // loses all text
	DialogAfter  time.Duration
	DialogOnText bool // a dialog comes up when text arrives
	Dialog       []string
	Titles       bool
	Spinner      bool          // the busy screen never rests
	NoCommands   bool          // it knows no command, says so, and takes Enter for none
	SayLate      time.Duration // how late it says so
	SayAtEnter   bool          // it says so at Enter, and what it has said stays
	Reloads      time.Duration // so long after the first text it loads for a while and loses what is in its line; 0: never
}

// Rules returns the rules that fit a terminal.Face.
func (f Face) Rules(tb testing.TB) screen.Rules {
	switch f.Style {
	case "rules":
		return Rules(tb, "claude")
	case "open":
		return Rules(tb, "codex")
	case "line":
		r := Rules(tb, "generic")
		r.ReadyPrefix = "> "
		r.Screen.InputBox.Marks = []string{"> "}
		return r
	default:
		return Rules(tb, "generic")
	}
}

// Trust is a dialog as a face may have one.
var Trust = []string{
	"Quick safety check: Is this a project you trust?", "", " ❯ No, exit", "   Yes, I trust this folder", "",
	" Enter to confirm",
}

// Agent is an input box state machine with a ledger.
type Agent struct {
	Face
	T *Fake

	// What Change may look at and change.
	Content  []rune
	Shown    string
	InDialog bool
	Picked   []string // keys that reached the dialog

	mu       sync.Mutex
	pasted   bool // content is shown by a placeholder
	loading  bool
	says     bool // that it knows no such command
	lastText time.Time
	busy     int
	tick     int
	ledger   []string
	rest     string // an unfinished paste
	output   []string
}

// NewAgent returns an agent that has drawn its input box and is ready.
func NewAgent(f Face) *Agent {
	a := &Agent{Face: f, T: New()}
	if a.Think == 0 {
		a.Think = 50 * time.Millisecond
	}
	a.T.Program = a.Feed
	if !a.NoPaste {
		a.T.Print("\x1b[?2004h")
	}
	if a.DialogAfter > 0 {
		time.AfterFunc(a.DialogAfter, a.ShowDialog)
	}
	a.Change(func() {}) // draws the agent
	return a
}

// Change calls change, which may change the agent's fields, and draws the agent.
func (a *Agent) Change(change func()) {
	a.mu.Lock()
	change()
	screen := a.draw()
	a.mu.Unlock()
	a.T.Print(screen)
}

// ShowDialog puts the face's dialog on the screen.
func (a *Agent) ShowDialog() { a.Change(func() { a.InDialog = true }) }

// Feed reads input: pastes in brackets, keys, text.
func (a *Agent) Feed(p []byte) {
	s := a.rest + string(p)
	a.rest = ""
	for s != "" {
		if text, ok := strings.CutPrefix(s, "\x1b[200~"); ok {
			inner, after, whole := strings.Cut(text, "\x1b[201~")
			if !whole {
				a.rest = s
				return
			}
			a.Text(inner, true)
			s = after
			continue
		}
		n := max(1, strings.IndexFunc(s+"\r", func(r rune) bool { return r < ' ' || r == 0x7f }))
		if strings.HasPrefix(s, "\x1b[") {
			n = min(3, len(s))
		}
		a.key(s[:n])
		s = s[n:]
	}
}

// Text puts a text into the input box.
func (a *Agent) Text(s string, paste bool) {
	a.Change(func() {
		a.lastText = time.Now()
		if a.SayLate > 0 {
			time.AfterFunc(a.SayLate, func() { a.Change(func() { a.says = true }) })
		}
		if a.IgnoreInput {
			return
		}
		a.Content = append(a.Content, []rune(s)...)
		a.pasted = paste && a.Placeholder > 0 && len(s) >= a.Placeholder
		if a.DialogOnText {
			a.InDialog = true
		}
		a.reload()
		if a.Echo == 0 {
			a.Shown = string(a.Content)
			return
		}
		time.AfterFunc(a.Echo, func() { a.Change(func() { a.Shown = string(a.Content) }) })
	})
}

// reload begins to load for a while, once, and loses what is in the line.
func (a *Agent) reload() {
	if a.Reloads == 0 {
		return
	}
	after := a.Reloads
	a.Reloads = 0
	time.AfterFunc(after, func() { a.Change(func() { a.loading = true }) })
	time.AfterFunc(after+a.Think, func() { a.Change(func() { a.loading, a.Content, a.Shown = false, nil, "" }) })
}

func (a *Agent) key(k string) {
	if k == "\r" && a.React > 0 {
		time.AfterFunc(a.React, func() { a.act(k) })
		return
	}
	a.act(k)
}

func (a *Agent) act(k string) {
	a.mu.Lock()
	dialog := a.InDialog
	a.mu.Unlock()
	switch {
	case dialog:
		a.Change(func() { a.Picked = append(a.Picked, k) })
	case k == "\r":
		a.enter()
	case k == "\x7f":
		a.Change(func() {
			a.Content = a.Content[:max(0, len(a.Content)-1)]
			a.Shown = string(a.Content)
		})
	case k == "\x15":
		a.Change(func() { a.Content, a.Shown = nil, "" })
	case k[0] >= ' ' && k[0] != 0x7f:
		a.Text(k, false)
	}
}

func (a *Agent) enter() {
	a.Change(func() {
		switch {
		case a.DropEnters > 0:
			a.DropEnters--
		case a.Newline > 0 && time.Since(a.lastText) < a.Newline:
			a.Content = append(a.Content, '\n')
			a.Shown = string(a.Content)
		case a.unknown():
			if a.SayAtEnter {
				a.output = append(a.output, noItems)
			}
		case strings.TrimSpace(string(a.Content)) != "":
			text := strings.TrimRight(string(a.Content), "\n")
			a.ledger = append(a.ledger, text)
			a.output = append(a.output, "● You said something")
			a.Content, a.Shown, a.pasted = nil, "", false
			begin := func() {
				a.busy++
				if a.Spinner {
					a.spin()
				}
			}
			if a.BusyLate > 0 {
				time.AfterFunc(a.BusyLate, func() { a.Change(begin) })
			} else {
				begin()
			}
			time.AfterFunc(a.BusyLate+a.Think, func() { a.Change(func() { a.busy-- }) })
		}
	})
}

// noItems says that it knows no such command.
const noItems = "┃ No matching items"

// unknown reports whether the input box holds a command that the program does not know.
func (a *Agent) unknown() bool {
	return a.NoCommands && strings.HasPrefix(string(a.Content), "/") && !strings.Contains(string(a.Content), " ")
}

func (a *Agent) spin() {
	time.AfterFunc(30*time.Millisecond, func() {
		a.Change(func() {
			if a.tick++; a.busy > 0 {
				a.spin()
			}
		})
	})
}

// draw returns the whole screen.
func (a *Agent) draw() string {
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2J")
	if a.Titles {
		title := "✳ agent"
		if a.busy > 0 {
			title = "◐ agent"
		}
		b.WriteString("\x1b]2;" + title + "\a")
	}
	lines := slices.Clone(a.output[max(0, len(a.output)-5):])
	if a.InDialog {
		b.WriteString(strings.Join(append(lines, a.Dialog...), "\r\n"))
		return b.String()
	}
	if a.unknown() && !a.SayAtEnter && (a.SayLate == 0 || a.says) {
		lines = append(lines, noItems)
	}
	if a.loading {
		lines = append(lines, "Resuming session...")
	}
	cursor := "\x1b[s"
	shown := strings.ReplaceAll(a.Shown, "\t", "    ")
	if a.pasted && a.Shown != "" {
		shown = "[Pasted text #1 +9 lines]"
	}
	inputBox := strings.ReplaceAll(shown, "\n", "\r\n  ") + cursor
	if a.Shown == "" && a.Suggestion != "" {
		inputBox = cursor + "\x1b[2m" + a.Suggestion + "\x1b[22m"
	}
	rule := strings.Repeat("─", Cols)
	switch a.Style {
	case "rules":
		foot := "? for shortcuts"
		if a.busy > 0 {
			lines = append(lines, "✽ Simmering… (1s · "+strings.Repeat("·", a.tick%7)+")")
			foot += " · esc to interrupt"
		}
		lines = append(lines, rule, "❯ "+inputBox, rule, "  "+foot)
	case "open":
		lines = append(lines, "", "› "+inputBox, "", "  model default · ~/work")
	case "line":
		lines = append(lines, "> "+inputBox)
	default:
		lines = append(lines, inputBox)
	}
	b.WriteString(strings.Join(lines, "\r\n") + "\x1b[u")
	return b.String()
}

// DrainPrompts returns what the agent took, and forgets it.
func (a *Agent) DrainPrompts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.ledger
	a.ledger = nil
	return taken
}

// Line returns what is in the input box.
func (a *Agent) Line() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return string(a.Content)
}

// Prompts returns what the agent took.
func (a *Agent) Prompts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.ledger)
}
