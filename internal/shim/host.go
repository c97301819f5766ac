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

	"gascity/internal/fsutil/rawlog"
	"gascity/internal/proc"
	"gascity/internal/shim/process"
	"gascity/internal/statedir"
	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/oscstate"
	"gascity/internal/terminal/vt"
)

// host is a running shim.
type host struct {
	// Constant after construction.
	dir  statedir.Folder
	lock *os.File // the folder's lock, ours until the process ends; replaced by restore alone
	// listener is the socket that clients find; replaced by restore alone.
	listener *net.UnixListener
	display  display
	log      *rawlog.Writer
	tree     *process.Tree
	server   *server
	ctx      context.Context         //nolint:containedctx // the life of the shim: agents live in it
	closing  context.CancelCauseFunc // ends it
	turn     chan struct{}           // holds one token: its owner starts or ends agents

	mu         sync.Mutex // guards all below, and the display
	spec       Spec       // constant except Argv
	record     Record
	agent      proc.ID
	run        *run  // the present agent's, or the last one's
	exit       *Exit // nil while the agent lives
	exitSaved  bool  // the record of the end is on disk
	stopping   bool  // the agent is being ended on purpose
	lastOutput time.Time
	lastHuman  time.Time
	title      string
	signs      oscstate.SignTracker
	seq        uint64
	changed    chan struct{} // closed and replaced at each change of seq
	meta       map[string]string
	deliveries inputlog.Deliveries
	lease      *lease // the right to deliver; nil if it is free
	leaseCount uint64 // how many there were
	answered   uint64
	last       []string // names of the questions that were answered last
	inputHold  *hold    // keeps back what people type; nil if nothing does
	waiting    int      // viewers that are kept back
	viewers    map[*viewer]struct{}
	events     hub
}

// The reasons why a shim ends. Without one of them the end was requested by a
// signal.
var (
	errDone        = errors.New("session has ended")                      // the record of the end stays
	errRemoved     = errors.New("session was stopped")                    // nothing stays
	errStarterGone = errors.New("the starter has gone before the report") // nothing stays
)

// signalGrace is how long agents get when the shim itself gets a request to
// end.
const signalGrace = 2 * time.Second

// Run is the shim's process: it reads a [Spec] from stdin, runs it, reports on
// stdout that it does (one line of JSON), and returns when the session is over.
// The folder's lock is inherited as file descriptor 3. ctx is ended by signals
// that mean to end the shim: the agent is stopped then and nothing stays. Nothing
// stays either when the starter is gone before it has sent all of the spec, or
// before it could get the answer.
//
// Run changes how the process takes signals and closes what it inherited: it is
// called once, by a program that does nothing else.
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

// limitMemory trades a little processor time for memory: a fleet has hundreds of
// shims and each is idle most of its life.
func limitMemory() {
	debug.SetGCPercent(40)
	debug.SetMemoryLimit(64 << 20)
}

type startReport struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

func reportStart(w io.WriteCloser, err error) error {
	report := startReport{OK: err == nil}
	if err != nil {
		report.Error = err.Error()
	}
	return errors.Join(json.NewEncoder(w).Encode(report), w.Close())
}

func open(dir statedir.Folder, stdin io.Reader) (*host, error) {
	var spec Spec
	if err := json.NewDecoder(stdin).Decode(&spec); err != nil {
		return nil, fmt.Errorf("cannot read the spec: %w", err)
	}
	if len(spec.Argv) == 0 || spec.Instance == "" {
		return nil, errors.New("the spec names no command or no instance")
	}
	if spec.Scrollback <= 0 {
		spec.Scrollback = DefaultScrollback
	}
	h := &host{
		dir: dir, spec: spec, seq: 1, changed: make(chan struct{}), turn: make(chan struct{}, 1),
		meta: map[string]string{}, viewers: map[*viewer]struct{}{},
	}
	h.turn <- struct{}{}
	h.display = newDisplay(spec, h.reply, h.notice)
	log, err := rawlog.Open(spec.LogPath, spec.LogSize)
	if err != nil {
		return nil, err
	}
	h.log = log
	return h, nil
}

func (h *host) start() error {
	tree, err := process.NewTree(h.spec.Instance)
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

// serve answers until the session is over.
func (h *host) serve(ctx context.Context, asked <-chan os.Signal) error {
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		h.watchStateDir(ctx, asked)
	}()
	<-ctx.Done()
	<-kept
	var grace time.Duration
	if !slices.Contains([]error{errDone, errRemoved, errStarterGone}, context.Cause(ctx)) {
		grace = signalGrace
	}
	<-h.turn // for good: nothing is started any more
	_, stopErr := h.end(grace)
	h.events.close()
	err := errors.Join(stopErr, h.server.shutdown())
	if !statedir.SameFile(h.lock, h.dir.Lock()) {
		return err // the folder was removed, and one that is there now is not ours
	}
	if errors.Is(context.Cause(ctx), errDone) {
		return errors.Join(err, os.Remove(h.dir.Sock()))
	}
	return errors.Join(err, h.dir.Remove())
}

// bumpLocked notifies waiters that the terminal or its state has changed.
func (h *host) bumpLocked() {
	h.seq++
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *host) stateLocked() State {
	cols, rows := h.display.Size()
	return State{
		Record: h.record, Agent: h.agent, Exit: h.exit, LastOutput: h.lastOutput, LastHuman: h.lastHuman,
		Attached: len(h.viewers), Title: h.title, Signs: h.signsLocked(), Answered: h.answered, Last: h.last, Cols: cols, Rows: rows,
	}
}

// screen returns the terminal, if there is one.
func (h *host) screen() (*vt.Screen, bool) {
	screen, ok := h.display.(*vt.Screen)
	return screen, ok
}
