package console

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/internal/term"
)

const (
	fakeCols = 100
	fakeRows = 30
)

// fakeTerminal is a Terminal over a screen model. program gets the input.
type fakeTerminal struct {
	mu      sync.Mutex
	screen  *term.Screen
	frame   Frame
	changed chan struct{}
	sent    [][]byte
	program func(p []byte)
}

func newFake() *fakeTerminal {
	f := &fakeTerminal{changed: make(chan struct{})}
	f.screen = term.New(fakeCols, fakeRows, nil)
	f.frame.Line = LineRaw
	f.print("")
	return f
}

// print is output of the program.
func (f *fakeTerminal) print(text string) {
	f.set(func(fr *Frame) {
		_, _ = f.screen.Write([]byte(text)) // a screen takes everything
		if text != "" {
			fr.LastOutput = time.Now()
		}
		rows := f.screen.Rows()
		cells := make([][]term.Cell, len(rows))
		for y := range cells {
			cells[y] = f.screen.Row(y)
		}
		fr.Rows, fr.Cells = rows, func(y int) []term.Cell { return cells[y] }
		fr.Cursor, fr.Modes, fr.Title = f.screen.Cursor(), f.screen.Modes(), f.screen.Title()
	})
}

func (f *fakeTerminal) set(change func(*Frame)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.frame)
	f.frame.Seq++
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeTerminal) Frame(ctx context.Context, after uint64) (Frame, error) {
	for {
		f.mu.Lock()
		fr, changed := f.frame, f.changed
		f.mu.Unlock()
		if fr.Seq > after || fr.Exited {
			return fr, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Frame{}, ctx.Err()
		}
	}
}

func (f *fakeTerminal) Send(_ context.Context, p []byte) error {
	f.mu.Lock()
	f.sent = append(f.sent, slices.Clone(p))
	program := f.program
	f.mu.Unlock()
	if program != nil {
		program(p)
	}
	return nil
}

// input returns everything that was sent.
func (f *fakeTerminal) input() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(slices.Concat(f.sent...))
}

// human is a person typing at an attached terminal.
func (f *fakeTerminal) human(p string) {
	f.set(func(fr *Frame) { fr.LastHuman, fr.Attached = time.Now(), 1 })
	f.program([]byte(p))
}

// look is what a fake agent draws like.
type face struct {
	style        string        // rules, open, line, plain
	dropEnters   int           // swallow so many
	newline      time.Duration // an Enter so soon after text is a newline
	echo         time.Duration // how late text is shown
	react        time.Duration // how late Enter acts
	think        time.Duration // how long a turn takes
	placeholder  int           // a paste of at least so many bytes is shown by a placeholder
	ghost        string
	noPaste      bool // does not ask for bracketed paste
	deaf         bool // loses all text
	dialogAfter  time.Duration
	dialogOnText bool // a dialog comes up when text arrives
	dialog       []string
	titles       bool
	spinner      bool // the busy screen never rests
}

// fakeAgent is a composer state machine with a ledger.
type fakeAgent struct {
	face
	t *fakeTerminal

	mu       sync.Mutex
	content  []rune
	pasted   bool // content is shown by a placeholder
	shown    string
	lastText time.Time
	busy     int
	tick     int
	inDialog bool
	picked   []string // keys that reached the dialog
	ledger   []string
	rest     string // an unfinished paste
	output   []string
}

func newAgent(f face) *fakeAgent {
	a := &fakeAgent{face: f, t: newFake()}
	if a.think == 0 {
		a.think = 50 * time.Millisecond
	}
	a.t.program = a.take
	if !a.noPaste {
		a.t.print("\x1b[?2004h")
	}
	if a.dialogAfter > 0 {
		time.AfterFunc(a.dialogAfter, a.showDialog)
	}
	a.locked(func() {})
	return a
}

// locked changes the agent and draws it.
func (a *fakeAgent) locked(change func()) {
	a.mu.Lock()
	change()
	screen := a.draw()
	a.mu.Unlock()
	a.t.print(screen)
}

func (a *fakeAgent) showDialog() { a.locked(func() { a.inDialog = true }) }

// take reads input: pastes in brackets, keys, text.
func (a *fakeAgent) take(p []byte) {
	s := a.rest + string(p)
	a.rest = ""
	for s != "" {
		if text, ok := strings.CutPrefix(s, "\x1b[200~"); ok {
			inner, after, whole := strings.Cut(text, "\x1b[201~")
			if !whole {
				a.rest = s
				return
			}
			a.text(inner, true)
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

func (a *fakeAgent) text(s string, paste bool) {
	a.locked(func() {
		a.lastText = time.Now()
		if a.deaf {
			return
		}
		a.content = append(a.content, []rune(s)...)
		a.pasted = paste && a.placeholder > 0 && len(s) >= a.placeholder
		if a.dialogOnText {
			a.inDialog = true
		}
		if a.echo == 0 {
			a.shown = string(a.content)
			return
		}
		time.AfterFunc(a.echo, func() { a.locked(func() { a.shown = string(a.content) }) })
	})
}

func (a *fakeAgent) key(k string) {
	if k == "\r" && a.react > 0 {
		time.AfterFunc(a.react, func() { a.act(k) })
		return
	}
	a.act(k)
}

func (a *fakeAgent) act(k string) {
	a.mu.Lock()
	dialog := a.inDialog
	a.mu.Unlock()
	switch {
	case dialog:
		a.locked(func() { a.picked = append(a.picked, k) })
	case k == "\r":
		a.enter()
	case k == "\x7f":
		a.locked(func() {
			a.content = a.content[:max(0, len(a.content)-1)]
			a.shown = string(a.content)
		})
	case k == "\x15":
		a.locked(func() { a.content, a.shown = nil, "" })
	case k[0] >= ' ' && k[0] != 0x7f:
		a.text(k, false)
	}
}

func (a *fakeAgent) enter() {
	a.locked(func() {
		switch {
		case a.dropEnters > 0:
			a.dropEnters--
		case a.newline > 0 && time.Since(a.lastText) < a.newline:
			a.content = append(a.content, '\n')
			a.shown = string(a.content)
		case strings.TrimSpace(string(a.content)) != "":
			text := strings.TrimRight(string(a.content), "\n")
			a.ledger = append(a.ledger, text)
			a.output = append(a.output, "● You said something")
			a.content, a.shown, a.pasted = nil, "", false
			a.busy++
			time.AfterFunc(a.think, func() { a.locked(func() { a.busy-- }) })
			if a.spinner {
				a.spin()
			}
		}
	})
}

func (a *fakeAgent) spin() {
	time.AfterFunc(30*time.Millisecond, func() {
		a.locked(func() {
			if a.tick++; a.busy > 0 {
				a.spin()
			}
		})
	})
}

// draw returns the whole screen.
func (a *fakeAgent) draw() string {
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2J")
	if a.titles {
		title := "✳ agent"
		if a.busy > 0 {
			title = "◐ agent"
		}
		b.WriteString("\x1b]2;" + title + "\a")
	}
	lines := slices.Clone(a.output[max(0, len(a.output)-5):])
	if a.inDialog {
		b.WriteString(strings.Join(append(lines, a.dialog...), "\r\n"))
		return b.String()
	}
	cursor := "\x1b[s"
	shown := strings.ReplaceAll(a.shown, "\t", "    ")
	if a.pasted && a.shown != "" {
		shown = "[Pasted text #1 +9 lines]"
	}
	composer := strings.ReplaceAll(shown, "\n", "\r\n  ") + cursor
	if a.shown == "" && a.ghost != "" {
		composer = cursor + "\x1b[2m" + a.ghost + "\x1b[22m"
	}
	rule := strings.Repeat("─", fakeCols)
	switch a.style {
	case "rules":
		foot := "? for shortcuts"
		if a.busy > 0 {
			lines = append(lines, "✽ Simmering… (1s · "+strings.Repeat("·", a.tick%7)+")")
			foot += " · esc to interrupt"
		}
		lines = append(lines, rule, "❯ "+composer, rule, "  "+foot)
	case "open":
		lines = append(lines, "", "› "+composer, "", "  model default · ~/work")
	case "line":
		lines = append(lines, "> "+composer)
	default:
		lines = append(lines, composer)
	}
	b.WriteString(strings.Join(lines, "\r\n") + "\x1b[u")
	return b.String()
}

func (a *fakeAgent) prompts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.ledger)
}
