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
	"gascity/internal/domain/workerrun"
	"gascity/runtime"
	"gascity/worker"
)

// host is one running host.
type host struct {
	// Constant after construction.
	spec       Spec
	dir        string // the working folder
	env        []string
	token      string
	nonce      string // in the ids of questions
	transcript *transcript
	report     *reporter
	city       *worker.Client // nil: the agent is in none that can be asked
	child      *child
	conn       *acp.Conn
	tools      *clientTools

	streamed string // the message whose pieces were shown last; the connection's reader has it

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	seq     uint64
	ready   bool
	ended   bool // the agent has ended

	name         string
	draft        bool   // the draft of version 2 is spoken
	modeOption   string // the option that is the mode, in the draft
	working      bool   // in the draft: the agent says that it works, for any client
	background   int    // in the draft: how much it says to go on beside that
	agent        string // its name, by its own word
	conversation string
	mode         string
	modes        []string
	model        string // as the session was opened with
	usage        json.RawMessage
	window       acp.Window
	usageFile    *usageFile      // nil: the agent itself reports what it uses
	uses         map[string]*use // of tools, in the present turn
	progress     runtime.Progress
	previousUses map[string]*use  // in the turn before
	refused      workerrun.Recent // ids of tool calls that were denied and have not ended

	turn       *turn
	turns      int
	since      time.Time // of the present activity
	last       string    // how the last turn ended, if there is something to say
	boundary   time.Time
	queue      []*entry // prompts that wait for their turn
	deliveries map[string]*entry
	order      []string // of the book
	asked      []*question
	count      int // of questions
}

// Options are what [Run] needs of its process.
type Options struct {
	Args    []string // after "--": the first prompt, if there is one
	Environ []string
	Stdout  io.Writer
	Version string // of gc
}

// Run returns the program. It returns its exit status when the agent has ended; for an agent that
// ended by a signal it does not return.
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
		spec: spec, token: token, dir: dir, env: opts.Environ, nonce: strings.ToLower(rand.Text()[:10]), transcript: p,
		changed: make(chan struct{}), since: time.Now(), deliveries: map[string]*entry{}, uses: map[string]*use{}, report: newReporter(lookup(opts.Environ)),
	}
	h.city = h.report.client
	if first := firstPrompt(opts.Args); first != "" {
		e := h.announce("first", false)
		h.enqueue(e, first)
	}
	return h.run(ctx, opts.Version)
}

// lookup reads variables of an environment.
func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, e := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func specOf(environ []string) (spec Spec, token string, err error) {
	var raw string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case SpecVariable:
			raw = value
		case tokenVariable:
			token = value
		}
	}
	if raw == "" {
		return spec, "", errors.New("this program is started by gc itself: it has no " + SpecVariable)
	}
	if err := json.Unmarshal([]byte(raw), &spec); err != nil {
		return spec, "", fmt.Errorf("%s cannot be read: %w", SpecVariable, err)
	}
	if spec.Handshake <= 0 {
		spec.Handshake = DefaultHandshake
	}
	return spec, token, nil
}

func firstPrompt(args []string) string {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return strings.Join(args, " ")
}

// run lives as long as the agent.
func (h *host) run(ctx context.Context, version string) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := listen(ctx, h)
	if err != nil {
		h.transcript.line("acp: " + err.Error())
		return 1
	}
	if h.child, err = startChild(h.spec.Command, h.env, h.transcript); err != nil {
		h.transcript.line("acp: the agent cannot be started: " + err.Error())
		_ = server.close() // it ends with us
		return 1
	}
	h.tools = newClientTools(h.dir, h.env)
	h.conn = acp.NewConn(h.child.out, h.child.in, h)
	var work sync.WaitGroup
	served := make(chan struct{})
	work.Go(func() {
		defer close(served)
		if err := h.conn.Serve(ctx); err != nil && ctx.Err() == nil {
			h.transcript.line("acp: " + err.Error())
		}
	})
	answered := make(chan struct{})
	work.Go(func() { defer close(answered); server.serve(ctx) })
	work.Go(func() { h.report.serve(ctx) })
	work.Go(func() { h.prove(ctx) })
	failed := make(chan error, 1)
	work.Go(func() { failed <- h.handshake(ctx, version) })
	code := h.waitForExit(signals, failed)
	h.child.drain(served)
	h.markEnded()
	h.tools.close()
	_ = server.close() // it ends with us
	// Each waiter learns how it ended, before cancel cuts them all off.
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

// waitForExit returns when the agent has ended; code is negative unless the host itself failed.
func (h *host) waitForExit(signals <-chan os.Signal, failed <-chan error) (code int) {
	for {
		select {
		case <-h.child.ended:
			return -1
		case err := <-failed:
			failed = nil
			if err == nil || errors.Is(err, acp.ErrClosed) && h.exitsWithin(drainTime) {
				continue
			}
			h.transcript.line(h.explain(err))
			h.child.end(0)
			return 1
		case sig := <-signals:
			if sig == syscall.SIGINT {
				_ = h.conn.Notify(acp.MethodCancel, acp.CancelParams{SessionID: h.conversationID()}) // an agent that cannot be notified ends by itself
				continue
			}
			h.child.closeStdin()
			go h.child.end(time.Second) // ends with the process; the sender of the signal ends it otherwise
		}
	}
}

// exitsWithin reports whether the agent ends within d: then its end is the news.
func (h *host) exitsWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-h.child.ended:
		return true
	case <-t.C:
		return false
	}
}

// explain is why the handshake failed, with the last words of the agent.
func (h *host) explain(err error) string {
	text := "acp: the handshake with the agent failed: " + err.Error()
	if last := h.child.lastErrors(); last != "" {
		text += "\nacp: the agent's standard error ended with:\n" + last
	}
	return text
}

func (h *host) conversationID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conversation
}

// broadcastLocked says that something has changed. h.mu is held.
func (h *host) broadcastLocked() {
	h.seq++
	close(h.changed)
	h.changed = make(chan struct{})
}

// markEnded marks the end of the agent for all who wait.
func (h *host) markEnded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.broadcastLocked()
}

// state returns what is known now. h.mu is held.
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
		s.Activity, s.Detail = runtime.ActivityUnknown, "the handshake is under way"
	case open >= 0:
		q := h.asked[open]
		s.Activity, s.Detail, s.Since, s.Pending = runtime.ActivityWaiting, "permission request", q.at, q.interaction()
	case h.turn != nil:
		s.Activity, s.Detail = runtime.ActivityBusy, "turn in progress"
		if h.turn.cancelled {
			s.Detail = "turn is being cancelled"
		}
	case h.working:
		s.Activity, s.Detail = runtime.ActivityBusy, "it works without a prompt"
	case h.background > 0:
		s.Activity, s.Detail = runtime.ActivityBackground, fmt.Sprintf("work in the background: %d", h.background)
	default:
		s.Activity, s.Detail = runtime.ActivityIdle, h.last
	}
	return s
}
