package typist

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"gascity/internal/console"
	"gascity/internal/journal"
	"gascity/internal/term"
)

// clears is what the clear key of a box removes.
type clears int

const (
	clearsAll clears = iota
	clearsLine
	clearsNothing
)

// boxOptions are the ways in which input boxes of agent programs differ.
type boxOptions struct {
	style      string // line, open, rules
	folds      int    // a paste of at least so many bytes is shown by a placeholder; 0: never
	oddFold    bool   // the placeholder is none that a profile knows
	hides      bool   // shows nothing of what it holds
	completes  string // a last word that begins with one of these has a menu, which takes Enter
	continues  bool   // a backslash before Enter makes a new line
	composes   bool   // combining characters become a part of their letter
	strips     bool   // invisible characters are removed
	vim        bool   // Escape goes to a mode in which keys are commands
	echo       time.Duration
	ghost      bool // shows a placeholder text while it is empty
	height     int  // rows of the box; more are not shown; 0: it grows beyond the screen
	noBack     bool // knows no backspace
	clears     clears
	noPaste    bool // does not ask for bracketed paste
	dropEnters int  // loses so many Enters
	fastLine   time.Duration
	turn       time.Duration
	turnHides  bool // shows no box and reads nothing during a turn
}

// randomBox returns the options of one run.
func randomBox(random *rand.Rand) boxOptions {
	one := func(n int) bool { return random.IntN(n) == 0 }
	o := boxOptions{
		style: []string{"line", "open", "rules"}[random.IntN(3)], oddFold: one(2), hides: one(12), continues: one(3),
		composes: one(3), strips: one(3), vim: one(8), ghost: one(3), noBack: one(4), noPaste: one(10),
		clears: clears(random.IntN(3)), turn: time.Duration(random.IntN(1500)) * time.Millisecond, turnHides: one(4),
	}
	if one(3) {
		o.folds = []int{1, 1, 30, 100}[random.IntN(4)]
	}
	if one(3) {
		o.completes = "@/#!"
	}
	if one(2) {
		o.echo = time.Duration(random.IntN(400)) * time.Millisecond
	}
	if one(2) {
		o.height = 3 + random.IntN(6)
	}
	if one(6) {
		o.dropEnters = 1 + random.IntN(4)
	}
	if one(6) {
		o.fastLine = 60 * time.Millisecond
	}
	if o.style != "line" { // these have a profile, whose keys are measured
		if o.clears == clearsNothing {
			o.clears = clearsAll
		}
		if o.clears == clearsLine {
			o.noBack = false
		}
	}
	return o
}

// removable reports whether a key removes what the box holds, and the box shows that.
func (o boxOptions) removable() bool {
	return !o.hides && (!o.noBack || o.clears == clearsAll)
}

// Who typed a character. Prompts are counted from 1.
const (
	byNobody = 0 // keys that remove text
	byPerson = -1
	byMark   = -2
)

type char struct {
	rune
	by   int
	fold int // number of the paste that stands for it; 0: it is shown
}

type piece struct {
	keys []byte
	by   int
}

// submission is what the program consumed at once.
type submission struct {
	text string
	by   []int // who typed it, without repetition
}

// box is a model of a program with an input box, and the terminal in front of it. What it
// consumed is the truth about every delivery.
type box struct {
	boxOptions

	mu       sync.Mutex
	unread   []piece // in the kernel
	content  []char
	pastes   int
	normal   bool // vim's mode for commands
	busy     bool
	still    bool // does not read
	exited   bool
	lastText time.Time
	drawn    string
	late     []string // screens that are shown later, in their order
	rows     []string
	cursor   term.Cursor
	seq      uint64
	changed  chan struct{}
	output   time.Time
	human    time.Time
	attached int

	taken   []submission
	faults  []string // what must never happen
	forgive bool     // a person asked for the box to be emptied
}

func newBox(o boxOptions) *box {
	b := &box{boxOptions: o, changed: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.show(b.screen())
	return b
}

// write puts input into the kernel's queue. The program reads it a moment later.
func (b *box) write(keys []byte, by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unread = append(b.unread, piece{slices.Clone(keys), by})
	if len(b.unread) == 1 {
		time.AfterFunc(time.Millisecond, b.read)
	}
}

// read takes what is in the queue, unless the program stands still.
func (b *box) read() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.unread) > 0 && !b.still && !b.exited && (!b.busy || !b.turnHides) {
		p := b.unread[0]
		b.unread = b.unread[1:]
		b.take(string(p.keys), p.by)
	}
	b.paint()
}

// stall lets the program read nothing for a while.
func (b *box) stall(d time.Duration) {
	b.mu.Lock()
	b.still = true
	b.mu.Unlock()
	time.AfterFunc(d, func() {
		b.mu.Lock()
		b.still = false
		b.mu.Unlock()
		b.read()
	})
}

func (b *box) take(s string, by int) {
	for s != "" {
		if text, ok := strings.CutPrefix(s, "\x1b[200~"); ok {
			inner, rest, _ := strings.Cut(text, "\x1b[201~")
			b.insert(inner, by, true)
			s = rest
			continue
		}
		r := []rune(s)[0]
		s = s[len(string(r)):]
		b.key(r, by)
	}
}

func (b *box) key(r rune, by int) {
	switch {
	case b.normal && r == 'i':
		b.normal = false
	case r == '\r':
		b.enter()
	case r == '\x1b':
		b.normal = b.vim
	case b.normal:
	case r == '\x7f' && !b.noBack:
		b.remove(len(b.content)-1, by)
	case r == '\x15' && b.clears == clearsAll:
		b.remove(0, by)
	case r == '\x15' && b.clears == clearsLine:
		from := len(b.content)
		for from > 0 && b.content[from-1].rune != '\n' {
			from--
		}
		b.remove(from, by)
	case r >= ' ' && r != '\x7f' || r == '\n' || r == '\t':
		b.insert(string(r), by, false)
	}
}

// remove removes what is behind from; a paste goes as a whole.
func (b *box) remove(from, by int) {
	if from < 0 || from >= len(b.content) {
		return
	}
	for from > 0 && b.content[from].fold > 0 && b.content[from-1].fold == b.content[from].fold {
		from--
	}
	for _, c := range b.content[from:] {
		if c.by == byPerson && by != byPerson && !b.forgive {
			b.fault("a person's text was removed: %q", text(b.content))
			break
		}
	}
	b.content = b.content[:from]
}

func (b *box) insert(s string, by int, paste bool) {
	b.lastText = time.Now()
	fold := 0
	if paste && b.folds > 0 && len(s) >= b.folds {
		b.pastes++
		fold = b.pastes
	}
	for _, r := range s {
		switch {
		case b.strips && unicode.Is(unicode.Cf, r):
			continue
		case b.composes && r == '\u0301' && len(b.content) > 0 && b.content[len(b.content)-1].rune == 'e':
			b.content[len(b.content)-1].rune = 'é'
			continue
		}
		b.content = append(b.content, char{r, by, fold})
	}
}

func (b *box) enter() {
	whole := text(b.content)
	word := whole[strings.LastIndexAny(whole, " \n")+1:]
	switch {
	case b.dropEnters > 0:
		b.dropEnters--
	case b.fastLine > 0 && time.Since(b.lastText) < b.fastLine:
		b.insert("\n", b.last(), false)
	case b.continues && strings.HasSuffix(whole, `\`):
		by := b.last()
		b.content = b.content[:len(b.content)-1]
		b.insert("\n", by, false)
	case b.completes != "" && word != "" && strings.ContainsRune(b.completes, rune(word[0])):
		by := b.last()
		b.content = b.content[:len(b.content)-len([]rune(word))]
		b.insert("$chosen ", by, false)
	case strings.TrimSpace(whole) != "":
		b.submit(whole)
	}
}

func (b *box) last() int {
	if len(b.content) == 0 {
		return byNobody
	}
	return b.content[len(b.content)-1].by
}

func (b *box) submit(whole string) {
	t := submission{text: whole}
	for _, c := range b.content {
		if !slices.Contains(t.by, c.by) {
			t.by = append(t.by, c.by)
		}
	}
	switch {
	case len(t.by) > 1 && slices.Contains(t.by, byPerson):
		b.fault(ownRisk+": %q is of %v", whole, t.by)
	case len(t.by) > 1:
		b.fault("fused: %q is of %v", whole, t.by)
	}
	if slices.Contains(t.by, byMark) && !slices.Contains(t.by, byPerson) {
		b.fault("a mark was submitted: %q", whole)
	}
	b.taken = append(b.taken, t)
	b.content, b.busy = nil, true
	time.AfterFunc(b.turn, func() {
		b.mu.Lock()
		b.busy = false
		b.mu.Unlock()
		b.read()
	})
}

// ownRisk is the fault of a submission of a prompt and a person's text.
const ownRisk = "fused with a person's text"

func (b *box) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

func text(content []char) string {
	runes := make([]rune, len(content))
	for i, c := range content {
		runes[i] = c.rune
	}
	return string(runes)
}

// paint shows the present state, late where the program echoes late.
func (b *box) paint() {
	screen := b.screen()
	if screen == b.drawn {
		return
	}
	b.drawn = screen
	if b.echo == 0 {
		b.show(screen)
		return
	}
	b.late = append(b.late, screen)
	time.AfterFunc(b.echo, func() { // timers of one moment fire in any order
		b.mu.Lock()
		defer b.mu.Unlock()
		b.show(b.late[0])
		b.late = b.late[1:]
	})
}

const (
	boxCols = 100
	boxRows = 30
	ghosted = "Type your message or @path/to/file"
)

// screen draws the whole screen: rows, and the cursor's place in the last line.
func (b *box) screen() string {
	var out []string
	if b.busy {
		out = append(out, "working (esc to interrupt)")
		if b.turnHides {
			return strings.Join(out, "\n") + "\n" + "\x000"
		}
	}
	mark := map[string]string{"line": "> ", "open": "› ", "rules": "❯ "}[b.style]
	lines := b.lines()
	for i := range lines {
		if i == 0 {
			lines[i] = mark + lines[i]
		} else {
			lines[i] = "  " + lines[i]
		}
	}
	rule := strings.Repeat("─", boxCols)
	switch b.style {
	case "rules":
		out = append(append(append(out, rule), lines...), rule, "  ? for shortcuts")
	case "open":
		out = append(append(append(out, ""), lines...), "", "  model default")
	default:
		out = append(out, lines...)
	}
	y := slices.Index(out, lines[0]) + len(lines) - 1
	return strings.Join(out, "\n") + "\n" + fmt.Sprint("\x00", y)
}

// lines are the rows of the box.
func (b *box) lines() []string {
	if b.hides || len(b.content) == 0 {
		if b.ghost && b.style != "line" && !b.hides {
			return []string{ghosted}
		}
		return []string{""}
	}
	var s strings.Builder
	last := 0
	for _, c := range b.content {
		switch {
		case c.fold > 0 && c.fold == last:
			continue
		case c.fold > 0 && b.oddFold:
			fmt.Fprintf(&s, "(block %d)", c.fold)
		case c.fold > 0:
			s.WriteString(map[string]string{
				"line": "[pasted 40]", "open": "[Pasted Content 1234 chars]", "rules": "[Pasted text #1 +9 lines]",
			}[b.style])
		default:
			s.WriteRune(c.rune)
		}
		last = c.fold
	}
	var rows []string
	for line := range strings.SplitSeq(s.String(), "\n") {
		line = strings.ReplaceAll(line, "\t", "    ")
		for runes := []rune(line); ; runes = runes[boxCols-4:] {
			if len(runes) <= boxCols-4 {
				rows = append(rows, string(runes))
				break
			}
			rows = append(rows, string(runes[:boxCols-4]))
		}
	}
	if b.height > 0 && len(rows) > b.height {
		rows = rows[len(rows)-b.height:]
	}
	return rows
}

// show puts a screen into the terminal; its last rows where it is too tall.
func (b *box) show(screen string) {
	rows, cursor, _ := strings.Cut(screen, "\n\x00")
	b.rows = strings.Split(rows, "\n")
	y := 0
	_, _ = fmt.Sscan(cursor, &y) // written by screen
	if over := len(b.rows) - boxRows; over > 0 {
		b.rows, y = b.rows[over:], max(0, y-over)
	}
	b.cursor = term.Cursor{Y: y, X: 2, Visible: true}
	b.output = time.Now()
	b.tick()
}

func (b *box) tick() {
	b.seq++
	close(b.changed)
	b.changed = make(chan struct{})
}

// Frame keeps the contract of console.Terminal.
func (b *box) Frame(ctx context.Context, after uint64) (console.Frame, error) {
	for {
		b.mu.Lock()
		f, changed := b.frame(), b.changed
		b.mu.Unlock()
		if f.Seq > after || f.Exited {
			return f, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return console.Frame{}, ctx.Err()
		}
	}
}

func (b *box) frame() console.Frame {
	f := console.Frame{
		Seq: b.seq + 1, Rows: b.rows, Cursor: b.cursor, Modes: term.Modes{BracketedPaste: !b.noPaste}, Line: console.LineRaw,
		Input: console.InputRead, LastOutput: b.output, LastHuman: b.human, Attached: b.attached, Exited: b.exited,
	}
	if len(b.unread) > 0 {
		f.Input = console.InputWaiting
	}
	return f
}

// boxLease is a Lease over the model, as a shim has one: it keeps people's input back, and
// notes and writes in one step. A fault of the deliverer is set by dies.
type boxLease struct {
	*box

	turn  *sync.Mutex // whose input is written
	book  *journal.Deliveries
	id    int // of the prompt that is delivered
	hold  *boxHold
	dies  int  // before so many steps; below 0: never
	after bool // it dies after the step was taken
	spoil func(l *boxLease, in journal.Input, p []byte) []byte
	marks *int // that were typed and not seen
}

// boxHold keeps back what a person types.
type boxHold struct {
	mu   sync.Mutex
	held chan struct{}
}

func (h *boxHold) wait() {
	for {
		h.mu.Lock()
		held := h.held
		h.mu.Unlock()
		if held == nil {
			return
		}
		<-held
	}
}

func (l *boxLease) step() error {
	if l.box.gone() {
		return console.ErrExited
	}
	if l.dies == 0 {
		return errDead
	}
	l.dies--
	return nil
}

func (l *boxLease) done() error {
	if l.dies == 0 && l.after {
		return errDead
	}
	return nil
}

func (l *boxLease) Frame(ctx context.Context, after uint64) (console.Frame, error) {
	if l.dies == 0 {
		return console.Frame{}, errDead
	}
	return l.box.Frame(ctx, after)
}

func (l *boxLease) Send(ctx context.Context, p []byte) error { return l.Type(ctx, journal.Keys, p) }

func (l *boxLease) Type(_ context.Context, in journal.Input, p []byte) error {
	if err := l.step(); err != nil {
		return err
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	if err := l.book.Send(in); err != nil {
		return err
	}
	by := byNobody
	switch in {
	case journal.Text:
		by = l.id
	case journal.Probe:
		by = byMark
		if *l.marks++; *l.marks > 1 {
			l.box.mu.Lock()
			l.box.fault("a mark was typed again although one was not seen")
			l.box.mu.Unlock()
		}
	default:
	}
	if l.spoil != nil {
		p = l.spoil(l, in, p)
	}
	if in == journal.Clear && l.showsMark() {
		*l.marks = 0
	}
	l.box.write(p, by)
	return l.done()
}

// showsMark reports whether the screen shows a mark.
func (l *boxLease) showsMark() bool {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	return strings.Contains(strings.Join(l.rows, "\n"), mark)
}

func (l *boxLease) Begin(_ context.Context, id, text string, undo []byte) error {
	if err := l.step(); err != nil {
		return err
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	l.book.Begin(id, []byte(text), undo)
	*l.marks = 0
	return l.done()
}

func (l *boxLease) Account(_ context.Context, id string) (journal.Account, error) {
	if err := l.step(); err != nil {
		return journal.Account{}, err
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.book.Account(id), nil
}

func (l *boxLease) Settle(_ context.Context, e journal.Entry) error {
	if err := l.step(); err != nil {
		return err
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	if !l.book.Settle(e) {
		return journal.ErrNoDelivery
	}
	return l.done()
}

func (l *boxLease) Hold(context.Context) (release func(), err error) {
	if err := l.step(); err != nil {
		return nil, err
	}
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	held := make(chan struct{})
	if l.hold.held != nil {
		held = l.hold.held
	}
	l.hold.held = held
	release = func() {
		l.hold.mu.Lock()
		defer l.hold.mu.Unlock()
		if l.hold.held == held {
			l.hold.held = nil
			close(held)
		}
	}
	time.AfterFunc(console.HoldLimit, release)
	return release, nil
}

// close ends the lease, as the end of its process does.
func (l *boxLease) close() {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	if l.hold.held != nil {
		close(l.hold.held)
		l.hold.held = nil
	}
}
