package bridge

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"gascity/internal/acp"
	"gascity/worker"
)

// reporter reports to the agent's city by the worker API what the agent does and what it
// costs. It never holds the agent up: reports wait, in order, for a city that answers. The
// zero value reports nothing.
type reporter struct {
	client *worker.Client
	// hooked says that the agent CLI calls hooks of its own, which report its tools and
	// tokens: their reports do not count twice.
	hooked bool
	getenv func(string) string

	mu     sync.Mutex
	closed bool
	items  chan item
	done   chan struct{} // closed when every report was sent, or given up
}

// item is one event. One with a ledger gets its usage from there.
type item struct {
	event     worker.TelemetryEvent
	usageFile *usageFile
	last      int64 // tokens of the turn's last response
}

const (
	// maxQueued is how much may wait for a city; what comes then is lost.
	maxQueued = 2000
	// maxBatch is how many events go at once.
	maxBatch = 100
	// flushTimeout bounds how long an agent's end waits for what was not reported
	// yet.
	flushTimeout = 2 * time.Second
	// hooksVariable is set for an agent CLI that calls hooks.
	hooksVariable = "GC_HOOKS"
)

// newReporter finds the city in the agent's environment.
func newReporter(getenv func(string) string) *reporter {
	c := &worker.Client{Socket: getenv("GC_WORKER_SOCKET"), URL: getenv("GC_WORKER_URL"), Token: getenv("GC_WORKER_TOKEN"), RunID: getenv("GC_RUN_ID")}
	if c.Socket != "" {
		c.URL = ""
	}
	r := &reporter{getenv: getenv, hooked: getenv(hooksVariable) != ""}
	if c.Socket+c.URL == "" || c.Token == "" || c.RunID == "" {
		return r
	}
	r.client, r.items, r.done = c, make(chan item, maxQueued), make(chan struct{})
	return r
}

// enqueue passes an event on.
func (r *reporter) enqueue(i item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == nil || r.closed {
		return
	}
	select {
	case r.items <- i:
	default: // its city has been away for very long
	}
}

// serve sends reports until [reporter.close] or the end of ctx.
func (r *reporter) serve(ctx context.Context) {
	if r.client == nil {
		return
	}
	defer close(r.done)
	defer r.client.Close()
	for first := range r.items {
		batch := []worker.TelemetryEvent{first.filled(ctx)}
		for len(batch) < maxBatch {
			select {
			case next, more := <-r.items:
				if more {
					batch = append(batch, next.filled(ctx))
					continue
				}
			default:
			}
			break
		}
		_, _ = r.client.Telemetry(ctx, batch...) // what the city refuses it will not take later either
		if ctx.Err() != nil {
			return
		}
	}
}

// close ends the reports: what waits is sent, within [flushTimeout].
func (r *reporter) close() {
	if r.client == nil {
		return
	}
	r.mu.Lock()
	r.closed = true
	close(r.items)
	r.mu.Unlock()
	t := time.NewTimer(flushTimeout)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
	}
}

func (i item) filled(ctx context.Context) worker.TelemetryEvent {
	if i.usageFile != nil {
		i.event.Usage = i.usageFile.spent(ctx, i.last)
	}
	return i.event
}

// plan reports the steps that the agent means to take.
func (r *reporter) plan(entries []acp.PlanEntry) {
	var steps strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&steps, "[%s] %s\n", e.Status, e.Content)
	}
	r.enqueue(item{event: worker.TelemetryEvent{Type: worker.Plan, Timestamp: time.Now(), Message: strings.TrimSuffix(steps.String(), "\n")}})
}

// mode reports the mode of the agent from now on.
func (r *reporter) mode(mode string) {
	r.enqueue(item{event: worker.TelemetryEvent{Type: worker.ModeChanged, Timestamp: time.Now(), Message: mode}})
}

// use is what is known of a tool that runs.
type use struct {
	call  acp.ToolCall // by all that was said of it
	began time.Time
	over  bool
}

// useOf adds what was said of a tool to what is known of it. uses are those of the present
// turn.
func useOf(uses map[string]*use, t acp.ToolCall) *use {
	u := uses[t.ID]
	if u == nil || t.ID == "" { // without a name each is one of its own
		u = &use{began: time.Now()}
		uses[t.ID] = u
	}
	u.call = merged(u.call, t)
	return u
}

// runningTool returns the tool that has run for the longest time and has not ended; empty if
// none runs.
func runningTool(uses map[string]*use) string {
	var oldest *use
	for _, u := range uses {
		ended := u.over || u.call.Status == acp.ToolCompleted || u.call.Status == acp.ToolFailed
		if !ended && (oldest == nil || u.began.Before(oldest.began)) {
			oldest = u
		}
	}
	if oldest == nil {
		return ""
	}
	return cmp.Or(oldest.call.Name, oldest.call.Title, oldest.call.Kind, "tool")
}

// tool reports a tool that has ended, once.
func (r *reporter) tool(uses map[string]*use, t acp.ToolCall) {
	u := useOf(uses, t)
	if u.over || r.hooked || t.Status != acp.ToolCompleted && t.Status != acp.ToolFailed {
		return
	}
	u.over = true
	r.used(u)
}

// used reports a tool that has ended.
func (r *reporter) used(u *use) {
	r.enqueue(item{event: worker.TelemetryEvent{
		Type: worker.ToolUsed, Timestamp: time.Now(), Message: u.call.Title,
		ToolsCalled: []worker.ToolCall{{
			Name: cmp.Or(u.call.Name, u.call.Kind, "tool"), CallID: u.call.ID, Success: u.call.Status == acp.ToolCompleted, DurationMS: time.Since(u.began).Milliseconds(),
		}},
	}})
}

// turn is the end of one.
func (r *reporter) turn(name string, usage *worker.Usage, book *usageFile, window acp.Window) {
	e := worker.TelemetryEvent{Type: worker.TurnComplete, Timestamp: time.Now(), MessageID: name, Usage: usage}
	if window.Size > 0 && window.Used >= 0 && window.Used <= window.Size {
		e.ContextUsage = new(float64(window.Used) / float64(window.Size))
	}
	if r.hooked {
		if e.ContextUsage == nil {
			return
		}
		e.Type, e.MessageID, e.Usage, book = worker.ContextPressure, "", nil, nil
	}
	if usage != nil {
		book = nil
	}
	r.enqueue(item{event: e, usageFile: book, last: window.Used})
}
