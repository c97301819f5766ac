package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"gascity/internal/proc"
)

// lingerLimit is how long a shim stays after its agent has ended if nobody asks
// what happened. Everything worth knowing is in the folder by then.
const lingerLimit = 30 * time.Second

// host is a running shim.
type host struct {
	// Constant after construction.
	dir     folder
	spec    Spec
	display display
	input   *inputQueue
	log     *rawLog
	tree    *tree
	server  *server
	ctx     context.Context         //nolint:containedctx // the life of the shim: relaunched agents live in it
	closing context.CancelCauseFunc // ends it

	mu         sync.Mutex // guards all below, and the display
	record     Record
	agent      proc.ID
	streams    *streams
	exit       *Exit
	lastOutput time.Time
	lastHuman  time.Time
	title      string
	status     string
	seq        uint64
	changed    chan struct{} // closed and replaced at each change of seq
	meta       map[string]string
	viewers    map[*viewer]struct{}
	events     hub
	stopping   bool
}

// errDone ends a shim that has nothing left to do.
var errDone = errors.New("session has ended")

// Run is the shim's process: it reads a [Spec] from stdin, runs it, reports on
// stdout that it does (one line of JSON), and returns when the session is over.
// The folder's lock is inherited as file descriptor 3. ctx is ended by signals
// that mean to end the shim: the agent is stopped then and nothing stays.
func Run(ctx context.Context, dir string, stdin io.Reader, stdout io.WriteCloser) error {
	syscall.CloseOnExec(lockFD)
	limitMemory()
	h, err := open(folder(dir), stdin)
	if err != nil {
		reportStart(stdout, err)
		return err
	}
	ctx, h.closing = context.WithCancelCause(ctx)
	h.ctx = ctx
	if err := h.start(ctx); err != nil {
		reportStart(stdout, err)
		return errors.Join(err, h.dir.clear())
	}
	reportStart(stdout, nil)
	err = h.serve(ctx)
	return err
}

// lockFD is where the starter leaves the folder's lock.
const lockFD = 3

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

func reportStart(w io.WriteCloser, err error) {
	report := startReport{OK: err == nil}
	if err != nil {
		report.Error = err.Error()
	}
	// The starter may be gone; the session is not the less started.
	_ = json.NewEncoder(w).Encode(report)
	_ = w.Close()
}

func open(dir folder, stdin io.Reader) (*host, error) {
	var spec Spec
	if err := json.NewDecoder(stdin).Decode(&spec); err != nil {
		return nil, fmt.Errorf("cannot read the spec: %w", err)
	}
	if len(spec.Argv) == 0 || spec.Instance == "" {
		return nil, errors.New("the spec names no command or no instance")
	}
	h := &host{
		dir: dir, spec: spec, seq: 1, changed: make(chan struct{}),
		meta: map[string]string{}, viewers: map[*viewer]struct{}{},
	}
	log, err := openRawLog(spec.LogPath, spec.LogSize)
	if err != nil {
		return nil, err
	}
	h.log = log
	return h, nil
}

func (h *host) start(ctx context.Context) error {
	tree, err := newTree(h.spec.Instance)
	if err != nil {
		return err
	}
	h.tree = tree
	if err := writeFile(h.dir.instance(), []byte(h.spec.Instance)); err != nil {
		return err
	}
	listener, err := listen(h.dir.sock())
	if err != nil {
		return err
	}
	h.server = newServer(h, listener)
	if err := h.launch(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	return nil
}

// launch starts the agent's process and writes the record.
func (h *host) launch(ctx context.Context) error {
	streams, err := openStreams(h.spec)
	if err != nil {
		return err
	}
	root, err := streams.start(h.spec)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot run %s: %w", filepath.Base(h.spec.Argv[0]), err), streams.close())
	}
	self, err := proc.Self()
	if err != nil {
		return err
	}
	boot, err := proc.BootID()
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.record = Record{
		Version: recordVersion, Name: h.spec.Name, Shim: self, Root: root, Boot: boot, StartedAt: time.Now(),
		Terminal: h.spec.Terminal, WorkDir: h.spec.Dir, ProcessNames: h.spec.ProcessNames, LogPath: h.spec.LogPath, Labels: h.spec.Labels,
	}
	h.agent, h.exit = root, nil
	if h.display == nil {
		h.display = newDisplay(h.spec, h.reply, h.notice)
	}
	h.input = newInputQueue(ctx, streams.in)
	h.streams = streams
	ended := h.tree.watch(root.PID)
	go h.read(streams) // ends when the streams close; conclude waits for it
	go h.follow(streams, ended)
	return writeJSON(h.dir.record(), h.record)
}

// serve answers until the session is over.
func (h *host) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- h.server.run() }()
	<-ctx.Done()
	h.stop(0) // whatever still runs must not outlive the lock
	h.events.close()
	err := h.server.shutdown()
	<-served
	if errors.Is(context.Cause(ctx), errDone) {
		return errors.Join(err, os.Remove(h.dir.sock()))
	}
	return errors.Join(err, h.dir.remove())
}

// errRemoved ends a shim whose session was stopped: nothing stays of it.
var errRemoved = errors.New("session was stopped")

// follow waits for the agent's end and draws up what is left of it.
func (h *host) follow(s *streams, ended <-chan rootEnd) {
	end := <-ended
	h.awaitHeirs(end)
	s.drain()
	h.conclude(end.status)
}

// awaitHeirs waits until no process is left that carries on as the agent: a fork
// of it that let its parent exit. Helpers and background jobs are no heirs.
func (h *host) awaitHeirs(end rootEnd) {
	for {
		heirs := h.tree.heirs(end, h.spec.ProcessNames)
		if len(heirs) == 0 {
			return
		}
		h.mu.Lock()
		h.agent = heirs[0]
		h.mu.Unlock()
		<-h.tree.changed()
	}
}

// conclude records the end. Whoever watches learns it; the corpse is on disk
// before.
func (h *host) conclude(status syscall.WaitStatus) {
	exit := exitOf(status)
	h.mu.Lock()
	if h.stopping || h.exit != nil {
		h.mu.Unlock()
		return
	}
	h.exit = &exit
	corpse := Corpse{Exit: exit, Title: h.title, Text: joinLines(h.display.Lines(0)), LastActivity: h.lastOutput}
	err := writeJSON(h.dir.corpse(), corpse)
	h.bumpLocked()
	linger := lingerLimit
	if h.events.publish(Event{Kind: EventExited, Time: exit.At, Exit: &exit}) {
		linger = time.Second
	}
	h.expireLocked(linger)
	h.mu.Unlock()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shim: cannot keep the last output:", err)
	}
	h.input.close()
}

// expireLocked ends the shim after a while, unless the agent is relaunched.
func (h *host) expireLocked(after time.Duration) {
	exit := h.exit
	time.AfterFunc(after, func() {
		h.mu.Lock()
		over := h.exit != nil && h.exit == exit
		h.mu.Unlock()
		if over {
			h.closing(errDone)
		}
	})
}

func exitOf(status syscall.WaitStatus) Exit {
	e := Exit{Code: status.ExitStatus(), At: time.Now()}
	if status.Signaled() {
		e.Code, e.Signal = -1, status.Signal().String()
	}
	return e
}

// bumpLocked tells waiters that the terminal or its state has changed.
func (h *host) bumpLocked() {
	h.seq++
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *host) stateLocked() State {
	cols, rows := h.display.Size()
	return State{
		Record: h.record, Agent: h.agent, Exit: h.exit, LastOutput: h.lastOutput, LastHuman: h.lastHuman,
		Attached: len(h.viewers), Title: h.title, Status: h.status, Cols: cols, Rows: rows,
	}
}
