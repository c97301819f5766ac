package workers

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"gascity/internal/domain/session"
	"gascity/worker"
)

// liveRun is an active run.
type liveRun struct {
	engine                       *Engine
	session, agent, instance, id string

	// The next fields are guarded by Engine.mu.
	starts int       // number of starts in progress
	begun  time.Time // when this controller started it; zero: it did not
	minted time.Time // when the first start by this controller began
	seen   bool      // a snapshot has shown the run since its start

	memoryMu   sync.Mutex // held while the memory is written; locked before mu
	lastMemory string     // the text that was written last; guarded by memoryMu

	mu              sync.Mutex
	changed         chan struct{} // closed and replaced by each change
	ended           bool
	memoryLoaded    bool // the memory of an earlier controller was read
	life            session.RunHistory
	mailbox         session.Mailbox
	reader          *reader
	streamed        bool      // the worker has opened a stream at least once
	leftAt          time.Time // when the last stream ended
	missedAt        time.Time // when a prompt first found no stream after that
	asked           []*question
	answered        []string // the worker's IDs of closed questions, newest last
	health          worker.Health
	usage           *float64 // used fraction of the context, as last reported
	lock            compactionState
	compaction      string              // ID of the last compact message
	limited         time.Time           // when the last reported rate limit ends
	failure         failure             // the last failure that the worker reported in the current or last turn
	screenAsksSince time.Time           // when the screen began to ask for a permission; zero: it does not ask
	answeredUntil   time.Time           // until when the terminal may still show an answered question
	denied          session.RecentNames // the agent CLI's IDs of denied calls
	ran             session.RecentNames // the agent CLI's IDs of calls that ran while their question was open
	proved          bool                // the worker has asked the guard
	partly          bool                // the worker has asked, but only about some tools
	bypass          string              // description of the last guard bypass; empty: none
	lastReport      time.Time           // when the worker last reported anything
	progress        progress            // progress in the turn, as the worker reports it
	sent            []string            // message IDs of the prompts sent by the stream, newest last
	command         typedCommand        // typed command whose effect was not seen yet
	contextLog      contextLog
	identity        string            // ID of the last identity message
	owned           map[string]string // IDs of the last messages with credentials, by account
	counter         int

	generation, ackedGeneration int // number of the newest token, and of the newest that the worker acknowledged
}

// reader is an open stream of a worker.
type reader struct {
	items  chan session.StreamItem
	closed chan struct{} // closed when the stream is replaced or closed by the engine
	lagged bool          // it was closed because it was too slow; set before closed is closed
}

// maxLag is how many items may wait for a reader. A reader with more is closed.
const maxLag = 1024

// newLiveRun returns a run that is not registered yet.
func newLiveRun(e *Engine, name, agent, instance string) *liveRun {
	return &liveRun{
		engine: e, session: name, agent: agent, instance: instance, id: session.RunID(instance), changed: make(chan struct{}),
	}
}

// changeLocked wakes every goroutine in [liveRun.waitUntil], because something in the run has
// changed. The caller holds mu.
func (a *liveRun) changeLocked() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// waitUntil waits until the function done returns true. It returns false if ctx or the run ends
// first. It calls done with mu locked.
func (a *liveRun) waitUntil(ctx context.Context, done func() bool) bool {
	for {
		a.mu.Lock()
		ok, over, changed := done(), a.ended, a.changed
		a.mu.Unlock()
		if ok {
			return true
		}
		if over {
			return false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// hasReported reports whether a worker has ever connected or reported for the run.
func (a *liveRun) hasReported() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.streamed || len(a.life.Reports) > 0 || len(a.asked) > 0
}

// knowsContext reports whether telemetry has reported how full the context is.
func (a *liveRun) knowsContext() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usage != nil
}

// presence is whether a worker reads the run's stream.
type presence int

const (
	absent    presence = iota
	returning          // it read the stream less than returnWithin ago
	present
)

// returnWithin is how long a prompt waits for a worker to connect again, after a broken connection
// or a change of the controller.
const returnWithin = 15 * time.Second

// presence returns whether the worker is connected (present), was connected until less than
// returnWithin ago (returning), or neither (absent).
func (a *liveRun) presence() presence {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.presenceLocked(returnWithin)
}

// presenceLocked returns whether the worker is connected (present), was connected until less than
// within ago (returning), or neither (absent).
func (a *liveRun) presenceLocked(within time.Duration) presence {
	switch {
	case a.reader != nil:
		return present
	case a.streamed && a.engine.opts.Now().Sub(a.leftAt) < within:
		return returning
	}
	return absent
}

// presenceForPrompt returns whether the worker is connected to receive a prompt. If it is not, the
// result is returning for [returnWithin] after the first prompt that needed it: the worker may be
// about to connect, and the prompt must not be typed meanwhile. If the last report came from a
// hook, no stream is expected.
func (a *liveRun) presenceForPrompt() presence {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.presenceLocked(returnWithin)
	if p != absent || a.life.Last().Metadata.Via == worker.ViaHook {
		return p
	}
	if now := a.engine.opts.Now(); a.missedAt.IsZero() {
		a.missedAt = now
	} else if now.Sub(a.missedAt) >= returnWithin {
		return absent
	}
	return returning
}

// offers reports whether the worker is connected and has announced this ability, such as
// interrupts.
func (a *liveRun) offers(ability string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reader != nil && a.life.HasOffer(ability)
}

// close closes the worker's stream. If last is not empty, it is sent first. If last.End is set, the
// run has ended.
func (a *liveRun) close(last session.StreamItem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = a.ended || last.End
	a.cutLocked(last)
	a.changeLocked()
}

// cutLocked closes the worker's open stream, if there is one. If last is not empty, it is sent
// first. The caller holds mu.
func (a *liveRun) cutLocked(last session.StreamItem) {
	r := a.reader
	if r == nil {
		return
	}
	a.reader, a.leftAt = nil, a.engine.opts.Now()
	if last != (session.StreamItem{}) {
		select {
		case r.items <- last:
		default:
			r.lagged = true
		}
	}
	close(r.closed)
}

// putLocked queues a message for the worker. It is sent now, or when the worker connects. A second
// call with the same ID returns the first message.
func (a *liveRun) putLocked(kind worker.MessageKind, id string, data any) (*session.MailboxMessage, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	if l := a.mailbox.Find(id); l != nil {
		return l, nil
	}
	l, err := a.mailbox.Put(worker.Message{ID: id, Kind: kind, At: a.engine.opts.Now(), Data: text})
	if err != nil {
		return nil, err
	}
	a.sendLocked(l.Message)
	a.changeLocked()
	return l, nil
}

// sendLocked sends a message to the open stream. It closes the stream of a reader that is too slow.
func (a *liveRun) sendLocked(m worker.Message) {
	if a.reader == nil {
		return
	}
	select {
	case a.reader.items <- session.StreamItem{Message: &m}:
		if l := a.mailbox.Find(m.ID); l != nil {
			l.Sent = true
		}
	default:
		a.reader.lagged = true
		a.cutLocked(session.StreamItem{})
	}
}

// sendMessage queues a message for the worker under a new ID, which begins with prefix, and returns
// the ID.
func (a *liveRun) sendMessage(kind worker.MessageKind, prefix string, data any) (id string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.putNewLocked(kind, prefix, data)
}

// putNewLocked is sendMessage for a caller that holds mu.
func (a *liveRun) putNewLocked(kind worker.MessageKind, prefix string, data any) (id string, err error) {
	a.counter++
	id = prefix + "-" + strconv.FormatInt(a.engine.opts.Now().UnixNano(), 36) + "-" + strconv.Itoa(a.counter)
	if _, err := a.putLocked(kind, id, data); err != nil {
		return "", mailboxError(err)
	}
	return id, nil
}

// sendInterrupt sends an interrupt to the worker and waits for its final acknowledgement. Then it
// removes the message, so that the worker cannot act on it later. It returns nil if there was no
// acknowledgement before ctx ended.
func (a *liveRun) sendInterrupt(ctx context.Context) (*session.MailboxMessage, error) {
	id, err := a.sendMessage(worker.InterruptMessage, string(worker.InterruptMessage), worker.Interrupt{RunID: a.id})
	if err != nil {
		return nil, err
	}
	said := a.waitUntil(ctx, func() bool { return a.mailbox.Find(id).IsDone() })
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.mailbox.Remove(id)
	if l := a.mailbox.Find(id); said && l != nil {
		return l, nil
	}
	return nil, nil //nolint:nilnil // the worker has not acknowledged it
}

// appendBounded appends an item to a copy of list and keeps the last limit items.
func appendBounded(list []string, item string, limit int) []string {
	list = append(list, item)
	return slices.Clone(list[max(0, len(list)-limit):])
}
