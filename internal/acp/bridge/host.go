package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gascity/internal/acp"
	"gascity/internal/domain/session"
	"gascity/internal/proc"
	"gascity/runtime"
	"gascity/worker"
)

// host is the state of this program, which runs one agent.
type host struct {
	// Constant after construction.
	spec       Spec
	dir        string   // the working directory
	env        []string // for the agent and its commands: without SpecVariable
	token      string
	nonce      string // part of the IDs of questions
	transcript *transcript
	record     *recorder
	report     *reporter
	city       *worker.Client // nil if the agent belongs to no city
	child      *child
	conn       *acp.Conn
	tools      *clientTools

	streamed string // ID of the message whose chunks were shown last; used only by the connection's reader

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	seq     uint64
	ready   bool
	ended   bool // the agent has exited

	name         string
	draft        bool   // whether the draft of version 2 is used
	modeOption   string // ID of the option that holds the mode, in the draft
	working      bool   // in the draft: the agent reports that it works, for any client
	background   int    // in the draft: number of reported background tasks
	agent        string // name that the agent reported
	conversation string
	mode         string
	modes        []string
	model        string // model with which the session was opened
	usage        json.RawMessage
	window       acp.Window
	usageFile    *usageFile      // nil if the agent itself reports its token usage
	uses         map[string]*use // tool calls of the current turn, by ID
	progress     runtime.Progress
	previousUses map[string]*use     // tool calls of the previous turn, by ID
	refused      session.RecentNames // IDs of tool calls that were denied and have not ended

	turn       *turn
	turns      int
	since      time.Time // start of the current activity
	last       string    // how the last turn ended; empty if normally
	boundary   time.Time
	queue      []*entry // prompts that wait for their turn
	deliveries map[string]*entry
	order      []string // IDs of deliveries, the oldest first
	asked      []*question
	count      int // number of questions so far
}

// Options are the arguments, environment and output of [Run].
type Options struct {
	Args    []string // the first prompt after "--", if there is one
	Environ []string
	Stdout  io.Writer
	Version string // version of gc
}

// Run runs an agent and returns the exit status of this program when the agent has exited. If a signal killed the agent, Run
// sends that signal to this process and does not return.
func Run(ctx context.Context, opts Options) int {
	p := &transcript{w: opts.Stdout}
	spec, token, err := specOf(opts.Environ)
	if err != nil {
		p.line("acp: " + err.Error())
		return 2
	}
	dir, err := os.Getwd()
	if err != nil {
		p.line("acp: " + err.Error())
		return 1
	}
	h := &host{
		spec: spec, token: token, dir: dir, nonce: strings.ToLower(rand.Text()[:10]), transcript: p, record: newRecorder(spec.Record),
		changed: make(chan struct{}), since: time.Now(), deliveries: map[string]*entry{}, uses: map[string]*use{},
		env:    slices.DeleteFunc(slices.Clone(opts.Environ), func(e string) bool { return strings.HasPrefix(e, SpecVariable+"=") }),
		report: newReporter(func(name string) string { return proc.Getenv(opts.Environ, name) }),
	}
	h.city = h.report.client
	if first := firstPrompt(opts.Args); first != "" {
		e := h.announce("first", false)
		h.enqueue(e, first)
	}
	return h.run(ctx, opts.Version)
}

// specOf returns what the environment says about the agent to run, and the token of the instance.
func specOf(environ []string) (spec Spec, token string, err error) {
	raw := proc.Getenv(environ, SpecVariable)
	token = proc.Getenv(environ, proc.TokenKey)
	if raw == "" {
		return spec, "", errors.New("only gc starts this program: the environment variable " + SpecVariable + " is not set")
	}
	if err := json.Unmarshal([]byte(raw), &spec); err != nil {
		return spec, "", fmt.Errorf("%s cannot be read: %w", SpecVariable, err)
	}
	if spec.Handshake <= 0 {
		spec.Handshake = DefaultHandshake
	}
	return spec, token, nil
}

// firstPrompt returns the arguments of the program as the first prompt for the agent.
func firstPrompt(args []string) string {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return strings.Join(args, " ")
}

// run starts the agent and handles requests until it exits. It returns the exit status.
func (h *host) run(ctx context.Context, version string) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener, err := listen(ctx, h.spec.Socket)
	if err != nil {
		h.transcript.line("acp: " + err.Error())
		return 1
	}
	if h.child, err = startChild(h.spec.Command, h.env, h.transcript); err != nil {
		h.transcript.line("acp: the agent cannot be started: " + err.Error())
		_ = listener.Close() // this process exits
		return 1
	}
	h.tools = newClientTools(h.dir, h.env)
	h.conn = acp.NewConn(h.child.Stdout, h.child.Stdin, h)
	var work sync.WaitGroup
	served := make(chan struct{})
	work.Go(func() {
		defer close(served)
		if err := h.conn.Serve(ctx); err != nil && ctx.Err() == nil {
			h.transcript.line("acp: " + err.Error())
		}
	})
	answered := make(chan struct{})
	work.Go(func() { defer close(answered); h.serve(ctx, listener) })
	work.Go(func() { h.report.serve(ctx) })
	work.Go(func() { h.sendCanary(ctx) })
	failed := make(chan error, 1)
	work.Go(func() { failed <- h.handshake(ctx, version) })
	code := h.waitForExit(signals, failed)
	h.child.drain(served)
	h.markEnded()
	h.tools.close()
	defer h.record.close()
	_ = listener.Close() // this process exits
	// All waiting callers get their answer before cancel stops them.
	select {
	case <-answered:
	case <-time.After(drainTime):
	}
	h.report.close()
	cancel()
	work.Wait()
	if code >= 0 {
		return code
	}
	return h.child.exitLikeAgent()
}

// waitForExit waits until the agent has exited and returns -1. While it waits, SIGINT cancels the agent's turn, and any other
// signal stops the agent. If it receives an error from failed, it stops the agent and returns an exit status. A closed connection
// does not count as an error if the agent exits within drainTime.
func (h *host) waitForExit(signals <-chan os.Signal, failed <-chan error) (code int) {
	for {
		select {
		case <-h.child.ended:
			return -1
		case err := <-failed:
			failed = nil
			if err == nil || errors.Is(err, acp.ErrClosed) && h.child.exitsWithin(drainTime) {
				continue
			}
			h.transcript.line(h.explain(err))
			h.child.end()
			return 1
		case sig := <-signals:
			if sig == syscall.SIGINT {
				_ = h.conn.Notify(acp.MethodCancel, acp.CancelParams{SessionID: h.conversationID()}) // an agent that cannot be notified exits by itself
				continue
			}
			go h.child.end() // the goroutine ends at the latest when this process exits
		}
	}
}

// explain returns the message that the handshake has failed, with the end of the agent's standard error.
func (h *host) explain(err error) string {
	text := "acp: the handshake with the agent failed: " + err.Error()
	if last := strings.ToValidUTF8(h.child.tail.String(), "?"); last != "" {
		text += "\nacp: the agent's standard error ended with:\n" + last
	}
	return text
}

// conversationID returns the ID of the agent's conversation.
func (h *host) conversationID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conversation
}

// broadcastLocked wakes all callers that wait for a change, and counts the change in seq. h.mu must be held.
func (h *host) broadcastLocked() {
	h.seq++
	close(h.changed)
	h.changed = make(chan struct{})
}

// waitUntil waits until holds returns true or ctx has ended, and returns the last result of holds. It calls holds with h.mu held:
// at once, after each change, and after ctx has ended.
func (h *host) waitUntil(ctx context.Context, holds func() bool) bool {
	for {
		ended := ctx.Err() != nil
		h.mu.Lock()
		ok := holds()
		changed := h.changed
		h.mu.Unlock()
		if ok || ended {
			return ok
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// markEnded records that the agent has exited and wakes all callers that wait for a change.
func (h *host) markEnded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.broadcastLocked()
}

// state returns the state of the host and its agent. h.mu must be held.
func (h *host) state() State {
	s := State{
		Seq: h.seq, Since: h.since, Name: h.name, Conversation: h.conversation, Dir: h.dir, Mode: h.mode, Modes: h.modes,
		Boundary: h.boundary, Waiting: len(h.queue), Turns: h.turns, Usage: h.usage, Progress: h.progress,
	}
	s.Progress.Tool = runningTool(h.uses)
	if h.child != nil {
		s.Agent = h.child.cmd.Process.Pid
	}
	open := h.raised("")
	switch {
	case !h.ready:
		s.Activity, s.Detail = runtime.ActivityUnknown, "the handshake is in progress"
	case open >= 0:
		q := h.asked[open]
		s.Activity, s.Detail, s.Since, s.Pending = runtime.ActivityWaiting, "permission request", q.at, q.interaction()
	case h.turn != nil:
		s.Activity, s.Detail = runtime.ActivityBusy, "turn in progress"
		if h.turn.cancelled {
			s.Detail = "turn is being cancelled"
		}
	case h.working:
		s.Activity, s.Detail = runtime.ActivityBusy, "the agent works without a prompt"
	case h.background > 0:
		s.Activity, s.Detail = runtime.ActivityBackground, fmt.Sprintf("work in the background: %d", h.background)
	default:
		s.Activity, s.Detail = runtime.ActivityIdle, h.last
	}
	return s
}
