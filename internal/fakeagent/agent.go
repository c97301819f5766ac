package fakeagent

import (
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"gascity/internal/fakeagent/ledger"
)

const (
	escapeWait = 150 * time.Millisecond // after this time a single ESC is the Escape key
	armedWait  = 3 * time.Second        // time for a second Ctrl-C, which exits
)

// chunk is a piece of input and the time when it was read.
type chunk struct {
	data   []byte
	prompt bool   // a whole prompt from a pipe
	do     func() // a function to call; the chunk has no input then
	at     time.Time
	err    error
}

// lateDialog is a dialog that appears some time after the agent is ready.
type lateDialog struct {
	screen
	after time.Duration
}

// alarm calls do once at the given time.
type alarm struct {
	at time.Time
	do func()
}

// agent is the state of the program. Only the goroutine of loop uses it.
type agent struct {
	// Constant after construction.
	m       *modes
	ledger  *ledgerFile
	out     *os.File
	display display
	acpPeer *acpPeer // for --acp; else nil
	peer    peer
	cwd     string
	inputs  chan chunk
	signals chan os.Signal

	rows, cols int
	comp       inputBox
	dec        keyDecoder
	early      []chunk // input that arrived before the agent could read it
	alarms     map[string]alarm

	dialogs []string // dialogs that are still to be shown
	late    []lateDialog
	dialog  *screen
	ready   bool

	turn         *turn
	queue        [][]byte
	ask          *menu
	wanted       string // a question that is answered with text; empty if there is none
	message      string // message of the next status
	conversation *conversation
	flood        int64 // bytes of a flood that are still to be written
	floodDone    func()
	frames       string // text of a flood

	lastText     time.Time
	enterIgnored bool // whether the first Enter was ignored
	armed        bool // whether the next Ctrl-C exits
	spinning     int
	dirty        bool
	title        string
	state        string

	ended  bool // the input has ended
	left   bool
	code   int
	reason string
	stderr string
}

// runAgent runs an agent from its banner to its exit. It returns the exit code.
func runAgent(m *modes, in, out *os.File) (int, error) {
	b, err := openLedger(m)
	if err != nil {
		return 1, err
	}
	a := &agent{m: m, ledger: b, out: out, inputs: make(chan chunk, 16), dialogs: m.dialogs, alarms: map[string]alarm{}}
	a.dec.Brackets = !m.noPaste
	a.comp.insert([]byte(m.draft))
	if a.cwd, err = os.Getwd(); err != nil {
		return 1, err
	}
	a.peer = noPeer{a}
	restore := func() error { return nil }
	if m.worker {
		n, err := newNative(a)
		if err != nil {
			return 2, err
		}
		a.display, a.peer = n, n
	} else if m.protocol {
		a.acpPeer = &acpPeer{noPeer: noPeer{a}, out: out, faults: m.faults}
		a.display, a.peer = a.acpPeer, a.acpPeer
		go readPrompts(in, false, a.inputs)
	} else if m.plain {
		a.display = &plain{out: out}
		go readPrompts(in, m.frame, a.inputs)
	} else {
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return 2, fmt.Errorf("standard input is not a terminal (%w): use --plain", err)
		}
		restore = func() error { return term.Restore(int(in.Fd()), state) }
		a.measure()
		a.display = &inline{out: out}
		if m.altScreen {
			a.display = &fullscreen{out: out, rows: a.rows, cols: a.cols}
		}
		go readTerminal(in, a.inputs, m.slowRead)
	}
	a.signals = watchSignals(m, b)
	a.start()
	a.loop()
	a.ledger.exit(ledger.Record{Code: a.code, Reason: a.reason}, a.comp.text)
	a.peer.left(a.code)
	a.stop()
	if err := restore(); err != nil && a.reason == "" {
		return 1, err
	}
	warn(os.Stderr, a.stderr)
	return a.code, nil
}

// start writes the start record, draws the banner and sets the timers.
func (a *agent) start() {
	record := ledger.Record{
		Kind: ledger.Start, Argv: os.Args, Dir: a.cwd, Env: map[string]string{},
		PPID: os.Getppid(), Rows: a.rows, Cols: a.cols,
	}
	for _, key := range a.m.ledgerEnv {
		if value, ok := os.LookupEnv(key); ok {
			record.Env[key] = value
		}
	}
	var opened *conversation
	var refused error
	if !a.m.protocol { // the client of the protocol opens it later
		opened, refused = openConversation(a.m)
	}
	if opened != nil {
		record.Conversation, record.Turns = opened.id, opened.turns
	}
	a.ledger.write(record)
	a.ledger.report("running")
	a.display.start()
	if !a.useConversation(opened, refused) {
		return
	}
	if !a.m.plain {
		if !a.m.noPaste {
			a.emit("\x1b[?2004h")
		}
		a.status("idle", "")
		a.display.print("✻ Welcome to fakeagent\n  cwd: " + a.cwd + "\n")
	}
	if a.m.printEnv != "" {
		if err := printEnvironment(a.m.printEnv); err != nil {
			a.stderr = err.Error()
			a.leave(1, "print-env-to")
			return
		}
	}
	for range a.m.spawnSetsid {
		a.spawn("setsid")
	}
	if a.m.spawnDaemon {
		a.spawn("daemon")
	}
	a.setTimers()
	if a.m.limit != "" {
		a.limitAtStart()
		return
	}
	if a.m.redrawFlood > 0 {
		a.startFlood(a.m.redrawFlood, a.warmUp)
		return
	}
	a.warmUp()
}

// setTimers sets the alarms for --exit-after and --max-life.
func (a *agent) setTimers() {
	if a.m.exitAfter > 0 {
		a.after("exit", a.m.exitAfter, func() {
			a.stderr = a.m.stderr
			a.leave(a.m.exitCode, "exit-after")
		})
	}
	a.after("life", a.m.maxLife, func() { a.leave(1, "max-life") })
}

// warmUp waits until the agent may become ready.
func (a *agent) warmUp() {
	if !a.m.hang {
		a.after("ready", a.m.slowStart, func() {
			a.showDialog()
			a.replay()
			a.leaveAtEnd()
		})
	}
}

// becomeReady draws the input box. The record has the time of the drawing.
func (a *agent) becomeReady() {
	a.ready = true
	now := time.Now()
	a.redraw()
	a.ledger.write(ledger.Record{Kind: ledger.Ready, Time: now})
	if a.m.plain {
		a.display.print("fakeagent ready")
	}
	if a.m.osc133 {
		a.osc("133;A")
		a.osc("133;B")
	}
	a.peer.opened()
	for _, d := range a.late {
		a.after("dialog "+d.name, d.after, func() { a.openDialog(d.screen) })
	}
	if a.m.prompt != "" {
		a.submit([]byte(a.m.prompt), "argv")
	}
}

// replay handles the input that arrived too early.
func (a *agent) replay() {
	early := a.early
	a.early = nil
	for _, c := range early {
		a.read(c)
	}
}

// loop handles input, signals and alarms until the agent exits.
func (a *agent) loop() {
	for !a.left {
		if a.dirty && len(a.inputs) == 0 && a.flood == 0 {
			a.redraw()
		}
		if a.flood > 0 {
			a.floodChunk()
			select {
			case c := <-a.inputs:
				a.read(c)
			case s := <-a.signals:
				a.receive(s)
			default:
			}
			a.ring(time.Now())
			continue
		}
		timer := time.NewTimer(time.Until(a.nextAlarm()))
		select {
		case c := <-a.inputs:
			a.read(c)
		case s := <-a.signals:
			a.receive(s)
		case now := <-timer.C:
			a.ring(now)
		}
		timer.Stop()
	}
}

// after sets the named alarm. It replaces an alarm with the same name.
func (a *agent) after(name string, d time.Duration, do func()) {
	a.alarms[name] = alarm{at: time.Now().Add(d), do: do}
}

func (a *agent) cancel(name string) { delete(a.alarms, name) }

// nextAlarm returns the time of the earliest alarm, at most an hour from now.
func (a *agent) nextAlarm() time.Time {
	next := time.Now().Add(time.Hour)
	for _, alarm := range a.alarms {
		if alarm.at.Before(next) {
			next = alarm.at
		}
	}
	return next
}

// ring calls the earliest alarm that is due, if there is one.
func (a *agent) ring(now time.Time) {
	due := ""
	for name, alarm := range a.alarms {
		if !alarm.at.After(now) && (due == "" || alarm.at.Before(a.alarms[due].at)) {
			due = name
		}
	}
	if due != "" {
		do := a.alarms[due].do
		delete(a.alarms, due)
		do()
		a.dirty = true
	}
}

// leave ends the loop with an exit code and a reason. Only the first call counts.
func (a *agent) leave(code int, reason string) {
	if !a.left {
		a.left, a.code, a.reason = true, code, reason
	}
}

// stop resets the terminal.
func (a *agent) stop() {
	if a.m.plain {
		return
	}
	a.display.stop()
	if !a.m.noPaste {
		a.emit("\x1b[?2004l")
	}
	a.emit("\x1b[0m\x1b[?25h")
	if a.m.osc9 {
		a.osc("9;4;0;0")
	}
}

// read handles one chunk of input.
func (a *agent) read(c chunk) {
	if c.do != nil {
		c.do()
		return
	}
	if c.err != nil {
		a.inputEnded(c)
		return
	}
	if a.m.ledgerKeys && !c.prompt {
		a.ledger.write(ledger.Record{Kind: ledger.Key, Time: c.at, Hex: hex.EncodeToString(c.data), Bytes: len(c.data)})
	}
	a.handleInput(c)
}
