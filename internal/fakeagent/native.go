package fakeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/worker"
)

// peer is what the agent communicates with besides its display. Its methods are called by the loop.
type peer interface {
	turnObserver
	toolClient
}

// turnObserver is notified of the state of the agent.
type turnObserver interface {
	opened()             // the agent is ready
	begun()              // work on a prompt has begun
	ended(reason string) // the work has ended; reason is a stop reason of the Agent Client Protocol
	left(code int)       // the agent exits
}

// toolClient asks the other side on behalf of the agent.
type toolClient interface {
	request(m *menu)   // asks a question with options
	wants(text string) // asks a question that is answered with text
	questionResolved() // the question needs no answer any more
	use(t tool)        // asks whether a tool may be used; the answer ends the step
}

var (
	_ peer = (*native)(nil)
	_ peer = (*acpPeer)(nil)
)

// noPeer is the peer of an agent that communicates only by a screen or a pipe. [acpPeer] embeds it for what the Agent Client
// Protocol has no messages for.
type noPeer struct{ a *agent }

func (noPeer) opened()           {}
func (noPeer) begun()            {}
func (noPeer) ended(string)      {}
func (noPeer) left(int)          {}
func (noPeer) wants(string)      {}
func (noPeer) questionResolved() {}

// request prints the question, which is answered by keys or by a line from the pipe.
func (p noPeer) request(m *menu) { p.a.display.print(m.plainText(p.a.m.plain)) }

// use denies the tool.
func (p noPeer) use(t tool) { p.a.decided(t, false, "no person can be asked"); p.a.advance() }

// exitTimeout bounds the wait at exit for calls that were not sent yet.
const exitTimeout = 500 * time.Millisecond

// native is the peer for --worker: it uses the worker API. It also prints what the agent says. The loop uses it; slow calls run
// in other goroutines, in order.
type native struct {
	plain

	// Constant after construction.
	a      *agent
	c      *worker.Client
	ctx    context.Context //nolint:containedctx // ends when the agent exits
	cancel context.CancelFunc
	began  time.Time
	beside sync.WaitGroup

	callsDone  chan struct{} // closed when all queued calls have been sent
	prompts    []string      // IDs of prompts in progress or queued, the current one first; "" for a prompt that is not a message
	interrupts []string      // IDs of messages to acknowledge at the end of the turn
	used       []worker.ToolCall
	asked      string // ID of the open question
	count      int
	stopAsking context.CancelFunc // cancels the request for a tool; nil if there is none
	over       bool               // the city has ended the run
}

// errNoCity reports that the environment variables of a worker are missing.
var errNoCity = errors.New("GC_WORKER_SOCKET or GC_WORKER_URL, GC_WORKER_TOKEN and GC_RUN_ID are not all set: the agent was not started by a city")

// newNative returns a peer for the city that the environment names.
func newNative(a *agent) (*native, error) {
	c := &worker.Client{Socket: os.Getenv("GC_WORKER_SOCKET"), URL: os.Getenv("GC_WORKER_URL"), Token: os.Getenv("GC_WORKER_TOKEN"), RunID: os.Getenv("GC_RUN_ID")}
	if c.Socket+c.URL == "" || c.Token == "" || c.RunID == "" {
		return nil, errNoCity
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan struct{})
	close(ready)
	return &native{plain: plain{out: a.out}, a: a, c: c, ctx: ctx, cancel: cancel, began: time.Now(), callsDone: ready}, nil
}

// enqueueCall makes a call to the city after all earlier calls. A permanent error makes the agent exit.
func (n *native) enqueueCall(what func(context.Context) error) {
	before, done := n.callsDone, make(chan struct{})
	n.callsDone = done
	n.beside.Go(func() {
		defer close(done)
		<-before
		if err := what(n.ctx); err != nil && n.ctx.Err() == nil {
			n.do(func() { n.fail(err) })
		}
	})
}

// do calls the function f in the loop.
func (n *native) do(f func()) {
	select {
	case n.a.inputs <- chunk{do: f}:
	case <-n.ctx.Done():
	}
}

// fail makes the agent exit because the city has refused a call. After the end of the run it does nothing.
func (n *native) fail(err error) {
	if !n.over {
		n.a.stderr = "the city: " + err.Error()
		n.a.leave(1, "worker")
	}
}

func (n *native) start() {
	offers := []string{worker.OfferContext, worker.OfferIdentity, worker.OfferInterrupt, worker.OfferCompact, worker.OfferHealth, worker.OfferAuthorize}
	n.enqueueCall(func(ctx context.Context) error {
		return errors.Join(n.c.Report(ctx, worker.Started, worker.Detail{Agent: Name, Offers: offers}), n.c.Prove(ctx))
	})
}

// opened starts to read the stream of messages.
func (n *native) opened() {
	n.enqueueCall(func(ctx context.Context) error { return n.c.Report(ctx, worker.Ready, worker.Detail{}) })
	ready := n.callsDone
	n.beside.Go(func() {
		<-ready
		for m, err := range n.c.Messages(n.ctx) {
			if err != nil {
				n.do(func() { n.fail(err) })
				return
			}
			n.do(func() { n.handleMessage(m) })
		}
		n.do(func() { n.over = true; n.a.leave(0, "the run has ended") })
	})
}

// handleMessage handles a message. It first writes one record for the message, which tests rely on.
func (n *native) handleMessage(m worker.Message) {
	n.a.ledger.write(n.a.ledger.text(ledger.Record{Kind: ledger.Message, Dialog: string(m.Kind), Message: m.ID}, withoutSecret(m)))
	ack := worker.Ack{ID: m.ID, State: worker.Consumed}
	var err error
	switch m.Kind {
	case worker.PromptMessage:
		ack, err = n.handlePrompt(m)
	case worker.InterruptMessage:
		ack = n.handleInterrupt(m)
	case worker.ReplyMessage:
		ack, err = n.handleAnswer(m)
	case worker.ContextMessage:
		ack, err = n.handleContext(m)
	case worker.IdentityMessage:
		err = n.handleIdentity(m)
	case worker.HealthMessage:
		n.health(m.ID)
		return
	case worker.CompactMessage:
		n.sendTelemetry(worker.TelemetryEvent{Type: worker.Compacted, Timestamp: time.Now(), MessageID: m.ID})
	default:
		ack = worker.Ack{ID: m.ID, State: worker.Refused, Detail: "the agent does not know this kind of message"}
	}
	if err != nil {
		ack = worker.Ack{ID: m.ID, State: worker.Refused, Detail: err.Error()}
	}
	if ack.ID != "" {
		n.ack(ack)
	}
}

// withoutSecret returns the part of a message that may be written to the ledger.
func withoutSecret(m worker.Message) []byte {
	if m.Kind == worker.IdentityMessage {
		return nil
	}
	return m.Data
}

func (n *native) ack(a worker.Ack) {
	n.enqueueCall(func(ctx context.Context) error { return n.c.Ack(ctx, a) })
}

func (n *native) sendTelemetry(e worker.TelemetryEvent) {
	n.enqueueCall(func(ctx context.Context) error { _, err := n.c.Telemetry(ctx, e); return err })
}

// handlePrompt submits a prompt. It is acknowledged during its turn.
func (n *native) handlePrompt(m worker.Message) (ack worker.Ack, err error) {
	var p worker.Prompt
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return ack, err
	}
	if n.a.wanted != "" { // the prompt is the answer to an open question
		n.a.submit([]byte(p.Content), "worker")
		return worker.Ack{ID: m.ID, State: worker.Consumed}, nil
	}
	n.prompts = append(n.prompts, m.ID)
	n.a.submit([]byte(p.Content), "worker")
	return ack, nil
}

// handleInterrupt interrupts the turn. It acknowledges at the end of the turn, or at once if there is none.
func (n *native) handleInterrupt(m worker.Message) worker.Ack {
	if n.a.turn == nil {
		return worker.Ack{ID: m.ID, State: worker.Consumed}
	}
	n.interrupts = append(n.interrupts, m.ID)
	n.a.interrupt()
	return worker.Ack{}
}

// handleAnswer answers the open question.
func (n *native) handleAnswer(m worker.Message) (ack worker.Ack, err error) {
	var r worker.Reply
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return ack, err
	}
	ack = worker.Ack{ID: m.ID, State: worker.Consumed}
	asks := n.asked != "" && r.Interaction == n.asked
	if asks && n.a.ask == nil && n.a.wanted != "" {
		n.asked = ""
		n.a.handleReply([]byte(r.Text))
		return ack, nil
	}
	if asks && n.a.ask != nil {
		for i, name := range n.a.ask.options {
			if r.Option == option(i) {
				n.asked = ""
				n.a.choose(name)
				return ack, nil
			}
		}
	}
	return ack, fmt.Errorf("there is no open question with the id %q and the option %q", r.Interaction, r.Option)
}

// handleContext records each section and returns the nonces that are in the sections.
func (n *native) handleContext(m worker.Message) (ack worker.Ack, err error) {
	var c worker.Context
	if err := json.Unmarshal(m.Data, &c); err != nil {
		return ack, err
	}
	ack = worker.Ack{ID: m.ID, State: worker.Consumed}
	for _, s := range c.Sections {
		n.a.ledger.write(n.a.ledger.text(ledger.Record{Kind: ledger.Context, Dialog: s.Type, Message: m.ID}, []byte(s.Content)))
		if s.Nonce != "" && strings.Contains(s.Content, s.Nonce) {
			ack.Nonces = append(ack.Nonces, s.Nonce)
		}
	}
	return ack, nil
}

// handleIdentity applies an identity. Of a credential the ledger has only the type, the account and the hash.
func (n *native) handleIdentity(m worker.Message) error {
	var id worker.Identity
	if err := json.Unmarshal(m.Data, &id); err != nil {
		return err
	}
	record := ledger.Record{Kind: ledger.Identity, Message: m.ID, Env: map[string]string{}}
	for key, value := range id.Env {
		if err := os.Setenv(key, value); err != nil {
			return err
		}
		if slices.Contains(n.a.m.ledgerEnv, key) {
			record.Env[key] = value
		}
	}
	if c := id.Credentials; c != nil {
		record.Dialog, record.Choice = c.Type, c.Account
		record.Bytes, record.SHA256 = len(c.Value), ledger.Sum(string(c.Value))
	}
	n.a.ledger.write(record)
	return nil
}

func (n *native) health(question string) {
	h := worker.Health{Status: worker.Healthy, Question: question, CurrentState: "idle", UptimeSeconds: int64(time.Since(n.began).Seconds())}
	if n.a.turn != nil {
		h.CurrentState = "busy"
	}
	n.enqueueCall(func(ctx context.Context) error { return n.c.ReportHealth(ctx, h) })
}

// left reports to the city that the agent exits, unless the run has ended, and waits for all calls.
func (n *native) left(code int) {
	if n.stopAsking != nil {
		n.stopAsking()
	}
	if !n.over {
		n.enqueueCall(func(ctx context.Context) error {
			return errors.Join(n.c.Report(ctx, worker.Stopping, worker.Detail{}), n.c.Report(ctx, worker.Stopped, worker.Detail{ExitCode: &code, Reason: n.a.reason}))
		})
	}
	timer := time.NewTimer(exitTimeout)
	defer timer.Stop()
	select {
	case <-n.callsDone:
	case <-timer.C:
	}
	n.cancel()
	n.beside.Wait()
	n.c.Close()
}
