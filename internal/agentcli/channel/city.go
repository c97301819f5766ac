package channel

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/internal/agentcli"
	"gascity/worker"
)

// reporter sends reports about the conversation to the city of the agent, in the order of the
// events, and receives prompts and interrupts from it. A report that cannot be sent waits until the
// city answers.
type reporter struct {
	client  *worker.Client
	server  *server
	family  string
	version string
	reports chan func(context.Context)
	passing chan struct{} // has a value while a prompt is being passed to the server

	// guarded by the server's mu
	sent         map[string]bool   // prompts that are being passed to the server
	promptOfTurn map[string]string // the prompt of each turn, by turn ID
	opened       bool              // the city knows that the agent accepts prompts
}

// maxReports is the maximum number of reports that wait for a city; further reports are lost.
const maxReports = 1000

// newReporter returns a reporter for the city that the environment of the agent names. It returns
// nil if the agent was not started by a city.
func newReporter(getenv func(string) string, family, version string) *reporter {
	c := agentcli.CityClient(getenv)
	if c == nil {
		return nil
	}
	return &reporter{client: c, family: family, version: version, reports: make(chan func(context.Context), maxReports), passing: make(chan struct{}, 1), sent: map[string]bool{}, promptOfTurn: map[string]string{}}
}

// report queues a function that sends one report. If too many reports wait, the report is dropped.
// It never waits.
func (r *reporter) report(do func(context.Context)) {
	select {
	case r.reports <- do:
	default: // the city has not answered for a very long time
	}
}

// lifecycle queues a report of what the agent does, such as the start of a turn, with the current
// time.
func (r *reporter) lifecycle(event worker.Transition, detail worker.Detail) {
	detail.Via = worker.ViaHook // it counts like the report of a hook, so the city still types commands of the agent CLI
	at := time.Now()
	r.report(func(ctx context.Context) { _ = r.client.ReportAt(ctx, event, at, detail) }) // a report that the city refuses is not sent again
}

// reportChange queues the reports for one change of the conversation. The caller holds the lock mu
// of the server. It never waits. r may be nil.
func (r *reporter) reportChange(c change) {
	if r == nil {
		return
	}
	if c.shown {
		r.reportShown()
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
		r.reportEnd(*c.ended)
	}
}

// reportShown reports that the thread on the screen accepts prompts. For the first thread it first
// reports that the agent has started.
func (r *reporter) reportShown() {
	if !r.opened {
		r.opened = true
		r.lifecycle(worker.Started, worker.Detail{Agent: r.family, Version: r.version, Offers: []string{worker.OfferInterrupt, worker.OfferClaim}})
	}
	r.lifecycle(worker.Ready, worker.Detail{})
}

// reportEnd reports that a turn has ended, and the result of its prompt.
func (r *reporter) reportEnd(t turn) {
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
	r.lifecycle(worker.Idle, worker.Detail{Reason: reason})
}

// attempts matches "2/5" in a message of the server: the number of an attempt, and of how many.
var attempts = regexp.MustCompile(`\b([0-9]+)/([0-9]+)\b`)

// retry returns the message of an error after which the server tries again, and which attempt that
// is.
func (e *turnError) retry() (message string, r worker.Retry) {
	if found := attempts.FindStringSubmatch(e.Message); found != nil {
		r.Attempt, _ = strconv.Atoi(found[1]) // the pattern has only digits
		r.Of, _ = strconv.Atoi(found[2])      // the pattern has only digits
		if e.Details != "" {
			return e.Details, r
		}
	}
	return e.text(), r
}

// text returns the message and the details of the error.
func (e *turnError) text() string {
	return strings.TrimSpace(e.Message + " " + e.Details)
}

// telemetry queues a report of telemetry with the current time.
func (r *reporter) telemetry(e worker.TelemetryEvent) {
	e.Timestamp = time.Now()
	r.report(func(ctx context.Context) { _, _ = r.client.Telemetry(ctx, e) }) // a report that the city refuses is not sent again
}

// ack queues a report about a message of the city: the state that it has got to, with details for
// people.
func (r *reporter) ack(id string, state worker.Progress, detail string) {
	r.report(func(ctx context.Context) {
		_ = r.client.Ack(ctx, worker.Ack{ID: id, State: state, Detail: detail, At: time.Now()})
	})
}

// sendReports sends the queued reports one after the other, until ctx ends.
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

// finish waits until the result of the prompt that is being sent is known and the queued reports
// are sent, at most [flushTimeout]. After it, no further prompt is sent to the server.
func (r *reporter) finish() {
	wait := time.NewTimer(flushTimeout)
	defer wait.Stop()
	select {
	case r.passing <- struct{}{}:
	case <-wait.C:
		return
	}
	sent := make(chan struct{})
	r.report(func(context.Context) { close(sent) })
	select {
	case <-sent:
	case <-wait.C:
	}
}

// listen receives the prompts and interrupts of the city until ctx or the run ends. It begins when
// the agent accepts prompts; until then, the city types prompts into the terminal.
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
			return // the city does not accept this worker, so prompts are typed
		case m.Kind == worker.PromptMessage:
			prompts <- m
		case m.Kind == worker.InterruptMessage:
			work.Go(func() { r.interrupt(ctx, m.ID) })
		default:
			r.ack(m.ID, worker.Refused, "the agent's channel takes prompts and interrupts only")
		}
	}
}

// prompt sends one prompt of the city to the server. [reporter.reportChange] reports later that the
// conversation contains the prompt, and that its turn has ended.
func (r *reporter) prompt(ctx context.Context, m worker.Message) {
	select {
	case r.passing <- struct{}{}:
		defer func() { <-r.passing }()
	case <-ctx.Done():
		return
	}
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

// interrupt interrupts the running turn because the city has asked for it. id is the ID of the
// city's message.
func (r *reporter) interrupt(ctx context.Context, id string) {
	if err := r.server.interrupt(ctx); err != nil {
		r.ack(id, worker.Failed, "the turn was not interrupted: "+err.Error())
		return
	}
	r.lifecycle(worker.Idle, worker.Detail{Reason: worker.TurnInterrupted})
	r.ack(id, worker.Consumed, "")
}
