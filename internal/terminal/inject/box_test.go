package inject

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/test/boxmodel"
)

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
	boxmodel.Box

	mu       sync.Mutex
	unread   []piece // in the kernel
	busy     bool
	still    bool // does not read
	exited   bool
	drawn    string
	late     []string // screens that are shown later, in their order
	rows     []string
	cursor   vt.Cursor
	seq      uint64
	changed  chan struct{}
	output   time.Time
	human    time.Time
	attached int

	taken      []submission
	typedMarks int
	faults     []string // what must never happen
	forgive    bool     // a person asked for the box to be emptied
}

func newBox(o boxmodel.Options) *box {
	b := &box{Box: boxmodel.Box{Options: o}, changed: make(chan struct{})}
	b.Submitted, b.Removing = b.submit, b.removing
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
	for len(b.unread) > 0 && !b.still && !b.exited && (!b.busy || !b.TurnHides) {
		p := b.unread[0]
		b.unread = b.unread[1:]
		b.Type(string(p.keys), p.by)
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

// onlyBlanks reports whether all characters of one author are blanks or line feeds.
func onlyBlanks(chars []boxmodel.Char, by int) bool {
	return !slices.ContainsFunc(chars, func(c boxmodel.Char) bool { return c.By == by && c.Rune != ' ' && c.Rune != '\n' })
}

func (b *box) submit(whole string, chars []boxmodel.Char) {
	t := submission{text: whole}
	blank := onlyBlanks(chars, boxmodel.ByPerson)
	for _, c := range chars {
		if c.By == boxmodel.ByPerson && blank {
			continue // blanks that a person left are not seen: such a box counts as empty
		}
		if !slices.Contains(t.by, c.By) {
			t.by = append(t.by, c.By)
		}
	}
	switch {
	case slices.Contains(t.by, boxmodel.ByPerson) && slices.Contains(t.by, boxmodel.ByMark) && len(t.by) == 2:
		b.fault(markRisk+": %q is of %v", whole, t.by)
	case len(t.by) > 1 && slices.Contains(t.by, boxmodel.ByPerson):
		b.fault(ownRisk+": %q is of %v", whole, t.by)
	case len(t.by) > 1:
		b.fault("fused: %q is of %v", whole, t.by)
	}
	if slices.Contains(t.by, boxmodel.ByMark) && !slices.Contains(t.by, boxmodel.ByPerson) {
		b.fault("a mark was submitted: %q", whole)
	}
	b.taken = append(b.taken, t)
	b.busy = true
	time.AfterFunc(b.Turn, func() {
		b.mu.Lock()
		b.busy = false
		b.mu.Unlock()
		b.read()
	})
}

// removing looks whose text a key is about to remove.
func (b *box) removing(chars []boxmodel.Char, by int) {
	for _, c := range chars {
		if c.By == boxmodel.ByPerson && by != boxmodel.ByPerson && !b.forgive {
			b.fault("a person's text was removed: %q", boxmodel.Text(b.Content))
			return
		}
	}
}

// ownRisk is the fault of a submission of a prompt and a person's text.
const ownRisk = "fused with a person's text"

// markRisk is the fault of a submission of a mark and a person's text.
const markRisk = "a mark is fused with a person's text"

func (b *box) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// paint shows the present state, late where the program echoes late.
func (b *box) paint() {
	screen := b.screen()
	if screen == b.drawn {
		return
	}
	b.drawn = screen
	if b.Echo == 0 {
		b.show(screen)
		return
	}
	b.late = append(b.late, screen)
	time.AfterFunc(b.Echo, func() { // timers of one moment fire in any order
		b.mu.Lock()
		defer b.mu.Unlock()
		b.show(b.late[0])
		b.late = b.late[1:]
	})
}

const boxRows = 30

// screen returns the whole screen: rows, and the number of the cursor's row.
func (b *box) screen() string {
	rows, y := b.Screen(b.busy)
	return strings.Join(rows, "\n") + "\n" + fmt.Sprint("\x00", y)
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
	b.cursor = vt.Cursor{Y: y, X: 2, Visible: true}
	b.output = time.Now()
	b.tick()
}

func (b *box) tick() {
	b.seq++
	close(b.changed)
	b.changed = make(chan struct{})
}

// Frame implements screen.Terminal.
func (b *box) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
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
			return screen.Frame{}, ctx.Err()
		}
	}
}

func (b *box) frame() screen.Frame {
	f := screen.Frame{
		Seq: b.seq + 1, Rows: b.rows, Cursor: b.cursor, Modes: vt.Modes{BracketedPaste: !b.NoPaste}, Line: screen.LineRaw,
		Input: screen.InputRead, LastOutput: b.output, LastHuman: b.human, Attached: b.attached, Exited: b.exited,
	}
	if len(b.unread) > 0 {
		f.Input = screen.InputWaiting
	}
	return f
}

// boxLease is a Lease over the model, as a shim has one: it keeps people's input back, and
// notes and writes in one step. A fault of the deliverer is set by dies.
type boxLease struct {
	*box

	turn  *sync.Mutex // whose input is written
	book  *DeliveryLog
	id    int // of the prompt that is delivered
	hold  *boxHold
	dies  int  // before so many steps; below 0: never
	after bool // it dies after the step was taken
	spoil func(l *boxLease, in Input, p []byte) []byte
	marks *int                        // that were typed and not seen
	begin func(context.Context) error // called before a delivery is recorded
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
	if l.box.hasExited() {
		return screen.ErrExited
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

func (l *boxLease) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	if l.dies == 0 {
		return screen.Frame{}, errDead
	}
	return l.box.Frame(ctx, after)
}

func (l *boxLease) Send(ctx context.Context, p []byte) error { return l.Type(ctx, InputKeys, p) }

func (l *boxLease) Type(_ context.Context, in Input, p []byte) error {
	if err := l.step(); err != nil {
		return err
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	if err := l.book.Send(in, p); err != nil {
		return err
	}
	by := boxmodel.ByNobody
	switch in {
	case InputText:
		by = l.id
	case InputProbe:
		by = boxmodel.ByMark
		l.box.mu.Lock()
		l.box.typedMarks++
		l.box.mu.Unlock()
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
	if in == InputClear && l.showsMark() {
		*l.marks = 0
	}
	l.box.write(p, by)
	return l.done()
}

// showsMark reports whether the screen shows a mark, or what a program that folds pastes shows
// for one: both show the sender that it is there, and that keys have removed it.
func (l *boxLease) showsMark() bool {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	screen := strings.Join(l.rows, "\n")
	for _, folded := range []string{"(block ", "[pasted ", "[Pasted "} {
		if l.Folds > 0 && strings.Contains(screen, folded) {
			return true
		}
	}
	return strings.Contains(screen, mark)
}

// TypeSeen implements SeenJournal.
func (l *boxLease) TypeSeen(ctx context.Context, seen uint64, in Input, p []byte) error {
	l.box.mu.Lock()
	changed := l.box.frame().Seq != seen
	l.box.mu.Unlock()
	if changed {
		return ErrChanged
	}
	return l.Type(ctx, in, p)
}

func (l *boxLease) Begin(ctx context.Context, id, text string, undo []byte) error {
	if err := l.step(); err != nil {
		return err
	}
	if l.begin != nil {
		if err := l.begin(ctx); err != nil {
			return err
		}
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	l.book.Begin(id, []byte(text), undo)
	*l.marks = 0
	return l.done()
}

func (l *boxLease) Account(_ context.Context, id string) (DeliveryAccount, error) {
	if err := l.step(); err != nil {
		return DeliveryAccount{}, err
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.book.Account(id), nil
}

func (l *boxLease) RecordOutcome(_ context.Context, e DeliveryEntry) error {
	if err := l.step(); err != nil {
		return err
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	if !l.book.RecordOutcome(e) {
		return ErrNoDelivery
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
	time.AfterFunc(screen.HoldLimit, release)
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
