package bridge

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"gascity/internal/acp"
	"gascity/internal/agentcli"
	"gascity/worker"
)

// reporter reports the agent's activity and token usage to its city. It never makes the agent wait: the reports are in a queue
// until the city answers. The zero value reports nothing.
type reporter struct {
	client *worker.Client
	// hooked reports that the agent CLI calls hooks, which report its tools and tokens. Then these are not reported a second
	// time.
	hooked bool
	getenv func(string) string

	mu     sync.Mutex
	closed bool
	items  chan item
	done   chan struct{} // closed when every report was sent or dropped
}

// item is one queued event. If usageFile is not nil, the usage is read from it.
type item struct {
	event     worker.TelemetryEvent
	usageFile *usageFile
	last      int64 // tokens of the last response of the turn
}

const (
	// maxQueued bounds the reports that wait for a city; further reports are dropped.
	maxQueued = 2000
	// maxBatch is the largest number of events in one request.
	maxBatch = 100
	// flushTimeout bounds the wait for unsent reports when the agent has exited.
	flushTimeout = 2 * time.Second
)

// newReporter returns a reporter for the city that the environment of the agent names. Without a city it reports nothing.
func newReporter(getenv func(string) string) *reporter {
	r := &reporter{client: agentcli.CityClient(getenv), getenv: getenv, hooked: getenv(agentcli.HooksVariable) != ""}
	if r.client != nil {
		r.items, r.done = make(chan item, maxQueued), make(chan struct{})
	}
	return r
}

// enqueue queues an event. If the queue is full, the event is dropped.
func (r *reporter) enqueue(i item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == nil || r.closed {
		return
	}
	select {
	case r.items <- i:
	default: // the city has not answered for a long time
	}
}

// serve sends the reports in the queue until [reporter.close] is called or ctx ends.
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
		_, _ = r.client.Telemetry(ctx, batch...) // reports that the city refuses are dropped
		if ctx.Err() != nil {
			return
		}
	}
}

// close ends the queue and waits until its reports are sent, at most [flushTimeout].
func (r *reporter) close() {
	if r.client == nil {
		return
	}
	r.mu.Lock()
	r.closed = true
	close(r.items)
	r.mu.Unlock()
	select {
	case <-r.done:
	case <-time.After(flushTimeout):
	}
}

// filled returns the event, with the token usage from the usage file if there is one.
func (i item) filled(ctx context.Context) worker.TelemetryEvent {
	if i.usageFile != nil {
		i.event.Usage = i.usageFile.spent(ctx, i.last)
	}
	return i.event
}

// plan queues a report of the agent's plan: the steps that it intends, with their states.
func (r *reporter) plan(entries []acp.PlanEntry) {
	var steps strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&steps, "[%s] %s\n", e.Status, e.Content)
	}
	r.enqueue(item{event: worker.TelemetryEvent{Type: worker.Plan, Timestamp: time.Now(), Message: strings.TrimSuffix(steps.String(), "\n")}})
}

// mode queues a report that the agent has another mode.
func (r *reporter) mode(mode string) {
	r.enqueue(item{event: worker.TelemetryEvent{Type: worker.ModeChanged, Timestamp: time.Now(), Message: mode}})
}

// use is one tool call, with what its updates have said so far.
type use struct {
	call  acp.ToolCall // with the values of all updates
	began time.Time
	over  bool
}

// updateUse adds an update to the tool call that it belongs to, and returns the call. uses has the tool calls of the turn.
func updateUse(uses map[string]*use, t acp.ToolCall) *use {
	u := uses[t.ID]
	if u == nil || t.ID == "" { // each update without an ID is a call of its own
		u = &use{began: time.Now()}
		uses[t.ID] = u
	}
	u.call = mergeToolCall(u.call, t)
	return u
}

// runningTool returns the name of the tool that has been running for the longest time; empty if none runs.
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

// tool handles an update of a tool call. When the call has ended, it queues one report about it.
func (r *reporter) tool(uses map[string]*use, t acp.ToolCall) {
	u := updateUse(uses, t)
	if u.over || r.hooked || t.Status != acp.ToolCompleted && t.Status != acp.ToolFailed {
		return
	}
	u.over = true
	r.used(u)
}

// used queues a report that a tool call has ended.
func (r *reporter) used(u *use) {
	r.enqueue(item{event: worker.TelemetryEvent{
		Type: worker.ToolUsed, Timestamp: time.Now(), Message: u.call.Title,
		ToolsCalled: []worker.ToolCall{{
			Name: cmp.Or(u.call.Name, u.call.Kind, "tool"), CallID: u.call.ID, Success: u.call.Status == acp.ToolCompleted, DurationMS: time.Since(u.began).Milliseconds(),
		}},
	}})
}

// turn queues the report that a turn has ended, with its token usage. If usage is nil, the usage is read from the file when the
// report is sent. If hooks report the turns, turn queues only how full the context window is, if that is known.
func (r *reporter) turn(message string, usage *worker.Usage, file *usageFile, window acp.Window) {
	e := worker.TelemetryEvent{Type: worker.TurnComplete, Timestamp: time.Now(), MessageID: message, Usage: usage}
	if window.Size > 0 && window.Used >= 0 && window.Used <= window.Size {
		e.ContextUsage = new(float64(window.Used) / float64(window.Size))
	}
	if r.hooked {
		if e.ContextUsage == nil {
			return
		}
		e.Type, e.MessageID, e.Usage, file = worker.ContextPressure, "", nil, nil
	}
	if usage != nil {
		file = nil
	}
	r.enqueue(item{event: e, usageFile: file, last: window.Used})
}
