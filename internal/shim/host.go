package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"gascity/internal/fsutil"
	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/vt"
)

// host is a running shim.
type host struct {
	// Constant after construction.
	dir  statedir.Folder
	lock *os.File // the folder's lock, held until the process exits; only restoreStateDir replaces it
	// listener is the socket that clients connect to; only restoreStateDir replaces it.
	listener *net.UnixListener
	display  display
	log      *fsutil.RawLogWriter
	tree     *childTree
	server   *server
	runner   *inject.Runner
	ctx      context.Context         //nolint:containedctx // ends when the shim must exit
	closing  context.CancelCauseFunc // cancels ctx with a reason
	turn     chan struct{}           // holds one token: only its owner may start or stop agents

	mu         sync.Mutex // guards all below, and the display
	spec       Spec       // constant except Argv
	record     Record
	agent      proc.ID
	run        *run  // of the current agent, or of the last one
	exit       *Exit // nil while the agent lives
	exitSaved  bool  // whether the exit record is on disk
	stopping   bool  // whether the agent is being stopped on purpose
	lastOutput time.Time
	lastHuman  time.Time
	title      string
	signs      vt.SignTracker
	seq        uint64
	changed    chan struct{} // closed and replaced at each change of seq
	meta       map[string]string
	deliveries inject.DeliveryLog
	lease      *leasedTerminal // the right to deliver prompts; nil if it is free
	leaseCount uint64          // number of leases granted so far
	answered   uint64
	last       []string // names of the last answered questions
	inputHold  *hold    // delays what people type; nil if no hold is active
	waiting    int      // number of viewers whose input is delayed
	viewers    map[*viewer]struct{}
	typists    int // number of screen streams that may type
	events     hub
}

// The reasons why a shim exits. If the reason is none of these, a signal requested the exit.
var (
	errDone        = errors.New("session has ended")                                                    // the exit record is kept
	errRemoved     = errors.New("session was stopped")                                                  // the folder is removed
	errStarterGone = errors.New("the process that started the session exited before it got the result") // the folder is removed
)

// signalGrace is the time between SIGTERM and SIGKILL for the agent when a signal stops the shim.
const signalGrace = 2 * time.Second

// Run is the main function of the shim process. It reads a [Spec] from stdin, starts the agent, writes one line of JSON to
// stdout that reports success or an error, and returns when the session has ended. The process must inherit the lock of the
// folder as file descriptor 3. Signals that stop the shim must cancel ctx: Run then stops the agent and removes the folder. Run
// also removes the folder if the starter exits before it has sent the whole spec or before it could read the report.
//
// Run changes the signal handling of the process and closes inherited files. Call it once, in a program that does nothing else.
func Run(ctx context.Context, dir string, stdin io.Reader, stdout io.WriteCloser) error {
	lock, err := statedir.Inherit(statedir.Folder(dir))
	if err != nil {
		return err
	}
	defaultSignals()
	limitMemory()
	h, err := open(statedir.Folder(dir), stdin)
	if err != nil {
		return errors.Join(err, statedir.Folder(dir).Remove(), reportStart(stdout, err))
	}
	h.lock = lock
	ctx, h.closing = context.WithCancelCause(ctx)
	h.ctx = ctx
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, reviveSignal)
	defer signal.Stop(asked)
	if err := h.start(); err != nil {
		return errors.Join(err, h.dir.Remove(), reportStart(stdout, err))
	}
	if err := reportStart(stdout, nil); err != nil {
		h.closing(errStarterGone)
	}
	return h.serve(ctx, asked)
}

// limitMemory makes the garbage collector use less memory and more processor time: there may be hundreds of shims, and each is
// idle most of the time.
func limitMemory() {
	debug.SetGCPercent(40)
	debug.SetMemoryLimit(64 << 20)
}

type startReport struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// reportStart reports to the process that started the shim whether the start succeeded (err is nil) or why it failed, and
// closes w.
func reportStart(w io.WriteCloser, err error) error {
	report := startReport{OK: err == nil}
	if err != nil {
		report.Error = err.Error()
	}
	return errors.Join(json.NewEncoder(w).Encode(report), w.Close())
}

// open reads the spec from stdin and returns a host without an agent.
func open(dir statedir.Folder, stdin io.Reader) (*host, error) {
	var spec Spec
	if err := json.NewDecoder(stdin).Decode(&spec); err != nil {
		return nil, fmt.Errorf("cannot read the spec: %w", err)
	}
	if len(spec.Argv) == 0 || spec.Instance == "" {
		return nil, errors.New("the start specification has no command or no instance token")
	}
	if spec.Scrollback <= 0 {
		spec.Scrollback = DefaultScrollback
	}
	h := &host{
		dir: dir, spec: spec, seq: 1, changed: make(chan struct{}), turn: make(chan struct{}, 1),
		meta: map[string]string{}, viewers: map[*viewer]struct{}{},
	}
	h.turn <- struct{}{}
	h.runner = h.newRunner()
	h.display = newDisplay(spec, h.reply, h.notice)
	log, err := fsutil.OpenRawLog(spec.LogPath, spec.LogSize)
	if err != nil {
		return nil, err
	}
	h.log = log
	return h, nil
}

// start creates the files of the folder and the socket, and starts the agent.
func (h *host) start() error {
	tree, err := newChildTree(h.spec.Instance)
	if err != nil {
		return err
	}
	h.tree = tree
	if err := statedir.WriteFile(h.dir.Instance(), []byte(h.spec.Instance)); err != nil {
		return err
	}
	if err := statedir.WriteFile(h.dir.Input(), nil); err != nil {
		return err
	}
	listener, err := listen(h.dir.Sock())
	if err != nil {
		return err
	}
	h.server = newServer(h, h.spec.Instance)
	if err := h.launch(); err != nil {
		return errors.Join(err, listener.Close())
	}
	h.listener = listener
	h.server.accept(listener)
	return nil
}

// serve answers requests until the session has ended, then stops the agent and removes the folder or, if the agent exited by
// itself, only the socket.
func (h *host) serve(ctx context.Context, asked <-chan os.Signal) error {
	watchDone := make(chan struct{})
	go func() {
		defer close(watchDone)
		h.watchStateDir(ctx, asked)
	}()
	<-ctx.Done()
	<-watchDone
	var grace time.Duration
	if !slices.Contains([]error{errDone, errRemoved, errStarterGone}, context.Cause(ctx)) {
		grace = signalGrace
	}
	<-h.turn // never returned: no agent is started any more
	_, stopErr := h.end(grace)
	h.events.close()
	err := errors.Join(stopErr, h.server.shutdown())
	h.runner.Close() // a delivery may run longer than shutdown waits
	if !statedir.SameFile(h.lock, h.dir.Lock()) {
		return err // the folder was removed; if a folder is there now, it belongs to another shim
	}
	if errors.Is(context.Cause(ctx), errDone) {
		return errors.Join(err, os.Remove(h.dir.Sock()))
	}
	return errors.Join(err, h.dir.Remove())
}

// bumpLocked increments seq and wakes the goroutines that wait for a change of the terminal or the state.
func (h *host) bumpLocked() {
	h.seq++
	close(h.changed)
	h.changed = make(chan struct{})
}

// waitLocked unlocks mu, waits until changed is closed, and locks mu again. It returns [ErrExited] if ctx has ended, or the shim
// must exit.
func (h *host) waitLocked(ctx context.Context, changed <-chan struct{}) error {
	h.mu.Unlock()
	defer h.mu.Lock()
	select {
	case <-changed:
	case <-ctx.Done():
	case <-h.ctx.Done():
	}
	if ctx.Err() != nil || h.ctx.Err() != nil {
		return ErrExited
	}
	return nil
}

// stateLocked returns the state that the shim reports to its clients.
func (h *host) stateLocked() State {
	cols, rows := h.display.Size()
	return State{
		Record: h.record, Agent: h.agent, Exit: h.exit, LastOutput: h.lastOutput, LastHuman: h.lastHuman,
		Attached: h.attachedLocked(), Title: h.title, Signs: h.signsLocked(), Answered: h.answered, Last: h.last, Cols: cols, Rows: rows,
		Delivers: true,
	}
}

// screen returns the terminal and reports whether the session has one.
func (h *host) screen() (*vt.Screen, bool) {
	screen, ok := h.display.(*vt.Screen)
	return screen, ok
}
