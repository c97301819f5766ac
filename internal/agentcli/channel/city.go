package channel

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/worker"
)

// reporter reports to the agent's city what the server sends, in order, and takes the
// city's messages. What cannot be sent waits for a city that answers.
type reporter struct {
	client  *worker.Client
	server  *server
	family  string
	version string
	reports chan func(context.Context)

	// guarded by the server's mu
	sent         map[string]bool   // prompts that are being handed over
	promptOfTurn map[string]string // by turn: the prompt that it works on
	opened       bool              // the city knows that the agent takes prompts
}

// maxReports is how many reports may wait for a city; what comes then is lost.
const maxReports = 1000

// newReporter finds the city in the agent's environment; nil: there is none.
func newReporter(getenv func(string) string, family, version string) *reporter {
	c := &worker.Client{Socket: getenv("GC_WORKER_SOCKET"), URL: getenv("GC_WORKER_URL"), Token: getenv("GC_WORKER_TOKEN"), RunID: getenv("GC_RUN_ID")}
	if c.Socket != "" {
		c.URL = ""
	}
	if c.Socket+c.URL == "" || c.Token == "" || c.RunID == "" {
		return nil
	}
	return &reporter{client: c, family: family, version: version, reports: make(chan func(context.Context), maxReports), sent: map[string]bool{}, promptOfTurn: map[string]string{}}
}

// report queues one report. It never blocks.
func (r *reporter) report(do func(context.Context)) {
	select {
	case r.reports <- do:
	default: // the city has been away for very long
	}
}

// life queues a lifecycle report with the present time.
func (r *reporter) life(event worker.Transition, detail worker.Detail) {
	detail.Via = worker.ViaHook // its hooks report too, and a command is typed
	at := time.Now()
	r.report(func(ctx context.Context) { _ = r.client.ReportAt(ctx, event, at, detail) }) // what the city refuses it will not take later either
}

// reportChange reports a change of the conversation. It is called with the server's mu and must
// not block.
func (r *reporter) reportChange(c change) {
	if r == nil {
		return
	}
	if c.shown {
		r.shown()
	}
	if c.message != "" && r.sent[c.message] {
		delete(r.sent, c.message)
		r.promptOfTurn[c.turn] = c.message
		r.ack(c.message, worker.Submitted, "")
	}
	if c.failure != nil {
		message, retry := c.failure.retry()
		r.telemetry(worker.TelemetryEvent{Type: worker.Failure, Message: message, Retry: &retry})
	}
	if c.ended != nil {
		r.ended(*c.ended)
	}
}

// shown reports that a thread takes prompts: the first one begins the agent's life.
func (r *reporter) shown() {
	if !r.opened {
		r.opened = true
		r.life(worker.Started, worker.Detail{Agent: r.family, Version: r.version, Offers: []string{worker.OfferInterrupt, worker.OfferClaim}})
	}
	r.life(worker.Ready, worker.Detail{})
}

// ended reports the end of a turn, and of the prompt that it worked on.
func (r *reporter) ended(t turn) {
	prompt := r.promptOfTurn[t.ID]
	delete(r.promptOfTurn, t.ID)
	reason := worker.TurnDone
	switch t.Status {
	case turnInterrupted:
		reason = worker.TurnInterrupted
	case turnFailed:
		reason = worker.TurnFailed
		message := "the turn failed"
		if t.Error != nil {
			message = t.Error.text()
		}
		r.telemetry(worker.TelemetryEvent{Type: worker.Failure, Message: message})
	default:
		if prompt != "" {
			r.ack(prompt, worker.Consumed, "")
		}
	}
	r.life(worker.Idle, worker.Detail{Reason: reason})
}

// attempts are in the message of a request that is repeated.
var attempts = regexp.MustCompile(`\b([0-9]+)/([0-9]+)\b`)

// retry returns the error of a request that is repeated, and which attempt follows.
func (e *turnError) retry() (message string, r worker.Retry) {
	if found := attempts.FindStringSubmatch(e.Message); found != nil {
		r.Attempt, _ = strconv.Atoi(found[1]) // digits
		r.Of, _ = strconv.Atoi(found[2])      // the same
		if e.Details != "" {
			return e.Details, r
		}
	}
	return e.text(), r
}

func (e *turnError) text() string {
	return strings.TrimSpace(e.Message + " " + e.Details)
}

func (r *reporter) telemetry(e worker.TelemetryEvent) {
	e.Timestamp = time.Now()
	r.report(func(ctx context.Context) { _, _ = r.client.Telemetry(ctx, e) }) // what the city refuses it will not take later either
}

func (r *reporter) ack(id string, state worker.Progress, detail string) {
	r.report(func(ctx context.Context) {
		_ = r.client.Ack(ctx, worker.Ack{ID: id, State: state, Detail: detail, At: time.Now()})
	})
}

// sendReports sends what is queued until ctx ends.
func (r *reporter) sendReports(ctx context.Context) {
	for {
		select {
		case do := <-r.reports:
			do(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// finish waits a moment until the queue is sent.
func (r *reporter) finish() {
	told := make(chan struct{})
	r.report(func(context.Context) { close(told) })
	wait := time.NewTimer(flushTimeout)
	defer wait.Stop()
	select {
	case <-told:
	case <-wait.C:
	}
}

// listen takes the city's messages until ctx or the run ends. It begins when the agent takes
// prompts: before that, they are typed.
func (r *reporter) listen(ctx context.Context) {
	if !r.server.until(ctx, func() bool { return r.server.conversation.thread != "" }) {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	prompts := make(chan worker.Message, 256)
	defer close(prompts)
	work.Go(func() {
		for m := range prompts {
			r.prompt(ctx, m)
		}
	})
	for m, err := range r.client.Messages(ctx) {
		switch {
		case err != nil:
			return // the city does not accept this worker: its prompts are typed
		case m.Kind == worker.PromptMessage:
			prompts <- m
		case m.Kind == worker.InterruptMessage:
			work.Go(func() { r.interrupt(ctx, m.ID) })
		default:
			r.ack(m.ID, worker.Refused, "the agent's channel takes prompts and interrupts only")
		}
	}
}

// prompt passes one prompt of the city. That the conversation has it, and the end of its
// turn, are reported by [reporter.reportChange].
func (r *reporter) prompt(ctx context.Context, m worker.Message) {
	var p worker.Prompt
	if err := json.Unmarshal(m.Data, &p); err != nil {
		r.ack(m.ID, worker.Refused, "the prompt cannot be read: "+err.Error())
		return
	}
	r.server.mu.Lock()
	r.sent[m.ID] = true
	r.server.mu.Unlock()
	state, detail := r.server.prompt(ctx, m.ID, p.Content)
	r.server.mu.Lock()
	delete(r.sent, m.ID)
	r.server.mu.Unlock()
	if state != "" {
		r.ack(m.ID, state, detail)
	}
}

func (r *reporter) interrupt(ctx context.Context, id string) {
	if err := r.server.interrupt(ctx); err != nil {
		r.ack(id, worker.Failed, "the turn was not interrupted: "+err.Error())
		return
	}
	r.life(worker.Idle, worker.Detail{Reason: worker.TurnInterrupted})
	r.ack(id, worker.Consumed, "")
}
