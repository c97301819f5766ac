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

// peer receives what a screen cannot show. Its methods are called by the loop.
type peer interface {
	turnObserver
	toolClient
}

// turnObserver receives the state of the agent.
type turnObserver interface {
	opened()             // the agent is ready
	begun()              // work on a prompt has begun
	ended(reason string) // and ended, in the words of the Agent Client Protocol
	left(code int)       // the agent ends
}

// toolClient is asked.
type toolClient interface {
	request(m *menu)   // a question with options
	wants(text string) // a question that waits for words
	questionResolved() // the question is none any more
	use(t tool)        // may it be used? Its answer ends the step
}

var (
	_ peer = (*native)(nil)
	_ peer = (*acpPeer)(nil)
)

// exitTimeout bounds how long the agent waits at its end for what it has yet to say.
const exitTimeout = 500 * time.Millisecond

// native is the worker API as this agent speaks it: the face of --worker. What the agent says it
// prints, too. The loop owns it; what may take time is done beside the loop, in order.
type native struct {
	plain

	// Constant after construction.
	a      *agent
	c      *worker.Client
	ctx    context.Context //nolint:containedctx // the life of the agent
	cancel context.CancelFunc
	began  time.Time
	beside sync.WaitGroup

	callsDone  chan struct{} // closed when all that was to be said has been
	prompts    []string      // messages that are not consumed, the first being worked on; "" came by another way
	interrupts []string      // messages to be acknowledged at the end of the turn
	used       []worker.ToolCall
	asked      string // our name of the question
	count      int
	stopAsking context.CancelFunc // of the tool that is asked for, or nil
	over       bool               // the city has said that the run has ended
}

// errNoCity reports a worker without the variables that it needs.
var errNoCity = errors.New("GC_WORKER_SOCKET or GC_WORKER_URL, GC_WORKER_TOKEN and GC_RUN_ID are not all set: no city has started it")

func newNative(a *agent) (*native, error) {
	c := &worker.Client{Socket: os.Getenv("GC_WORKER_SOCKET"), URL: os.Getenv("GC_WORKER_URL"), Token: os.Getenv("GC_WORKER_TOKEN"), RunID: os.Getenv("GC_RUN_ID")}
	if c.Socket+c.URL == "" || c.Token == "" || c.RunID == "" {
		return nil, errNoCity
	}
	ctx, cancel := context.WithCancel(context.Background())
	said := make(chan struct{})
	close(said)
	return &native{plain: plain{out: a.out}, a: a, c: c, ctx: ctx, cancel: cancel, began: time.Now(), callsDone: said}, nil
}

// enqueueCall sends something to the city after everything before it was sent. What fails for good ends
// the agent.
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

// do has the loop do something.
func (n *native) do(what func()) {
	select {
	case n.a.inputs <- chunk{do: what}:
	case <-n.ctx.Done():
	}
}

// fail ends an agent whose city will not have it. One that fails after the end of the run fails for that.
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

// opened reads the stream from now on.
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

// handleMessage acts on a message. The record of it is the oracle's: it is written once for each message that the client
// has handed over, before anything is done about it.
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
		ack = worker.Ack{ID: m.ID, State: worker.Refused, Detail: "it does not know this kind of message"}
	}
	if err != nil {
		ack = worker.Ack{ID: m.ID, State: worker.Refused, Detail: err.Error()}
	}
	if ack.ID != "" {
		n.ack(ack)
	}
}

// withoutSecret returns what of a message may stand in a ledger.
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

// handlePrompt returns a prompt to the agent, which acknowledges it as its turn goes.
func (n *native) handlePrompt(m worker.Message) (ack worker.Ack, err error) {
	var p worker.Prompt
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return ack, err
	}
	if n.a.wanted != "" { // these are the words that it waits for
		n.a.submit([]byte(p.Content), "worker")
		return worker.Ack{ID: m.ID, State: worker.Consumed}, nil
	}
	n.prompts = append(n.prompts, m.ID)
	n.a.submit([]byte(p.Content), "worker")
	return ack, nil
}

// handleInterrupt confirms at the end of the turn, or at once if there is none.
func (n *native) handleInterrupt(m worker.Message) worker.Ack {
	if n.a.turn == nil {
		return worker.Ack{ID: m.ID, State: worker.Consumed}
	}
	n.interrupts = append(n.interrupts, m.ID)
	n.a.interrupt()
	return worker.Ack{}
}

// handleAnswer returns the answer to the question that is asked.
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
	return ack, fmt.Errorf("there is no question %q with the answer %q", r.Interaction, r.Option)
}

// handleContext records each section, and gives back the nonces that stand in them.
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

// handleIdentity applies an identity. Of a credential the ledger has what kind it is, and its sum.
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

// left says that the agent ends, if there is somebody who hears it, and waits for all that was begun.
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
