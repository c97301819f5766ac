package workers

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"gascity/internal/domain/workerrun"
	"gascity/internal/service/workers/compaction"
	"gascity/internal/service/workers/contextlog"
	"gascity/worker"
)

// liveRun is a run that lives.
type liveRun struct {
	engine                       *Engine
	session, agent, instance, id string

	// guarded by Engine.mu
	starts int       // how many starts of it are under way
	begun  time.Time // when it was started here; zero if it was not
	minted time.Time // when that start began
	seen   bool      // the controller has shown it since

	memoryMu   sync.Mutex // held while its memory is written, and before mu
	lastMemory string     // what was written last; guarded by noting

	mu            sync.Mutex
	changed       chan struct{} // closed and replaced by each change
	ended         bool
	recalled      bool // what an earlier controller knew is known here
	life          workerrun.History
	mailbox       workerrun.Mailbox
	reader        *reader
	streamed      bool      // its worker has opened a stream at some time
	leftAt        time.Time // when the last stream ended
	missedAt      time.Time // when a prompt first found no stream since then
	asked         []*question
	answered      []string // the worker's ids of questions that are over, the newest last
	health        worker.Health
	usage         *float64 // of the context, as telemetry reported last
	lock          compaction.State
	compaction    string           // name of the last compact message
	limited       time.Time        // the end of the model provider's limit that was reported last
	failure       failure          // the last one that the worker reported, of the turn that it is in or was in last
	drawnAt       time.Time        // since when its screen asks for a permission; zero: it does not
	answeredUntil time.Time        // until then the place may still show a question that was answered
	denied        workerrun.Recent // the model provider's names of calls that were denied
	ran           workerrun.Recent // the model provider's names of calls that ran while their question was open
	proved        bool             // the worker has asked the guard
	partly        bool             // it has, and not about every tool
	bypass        string           // what ran although it was denied, the newest
	lastReport    time.Time        // when the worker last said anything
	progress      progress         // in the turn, as the worker reports it
	sent          []string         // names of the prompts that went by the stream, the newest last
	command       typedCommand     // whose effect was not seen
	contextLog    contextlog.Record
	identity      string            // name of the last identity message
	owned         map[string]string // names of the last messages with credentials, by account
	counter       int

	generation, ackedGeneration int // of tokens: the newest, and the newest that the worker has
}

// reader is a stream that is open.
type reader struct {
	items  chan workerrun.Item
	closed chan struct{} // closed when it has been replaced or cut off
	lagged bool          // it was cut off because it was too slow; set before gone is closed
}

// maxLag is how many items a reader may be behind.
const maxLag = 1024

func newLiveRun(e *Engine, name, agent, instance string) *liveRun {
	return &liveRun{
		engine: e, session: name, agent: agent, instance: instance, id: workerrun.ID(instance), changed: make(chan struct{}),
	}
}

// changeLocked wakes who waits.
func (a *liveRun) changeLocked() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// until waits until done, which is called with the lock, says so; false if ctx or
// the run ends first.
func (a *liveRun) until(ctx context.Context, done func() bool) bool {
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

// hasReported reports whether a worker has ever spoken for the run.
func (a *liveRun) hasReported() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.streamed || len(a.life.Reports) > 0 || len(a.asked) > 0
}

// presence is whether a worker reads the run's stream.
type presence int

const (
	absent    presence = iota
	returning          // it did a moment ago
	present
)

// returnWithin is how long a worker that was connected is waited for: after a broken
// connection, or after another controller.
const returnWithin = 15 * time.Second

func (a *liveRun) presence() presence {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.presenceLocked(returnWithin)
}

func (a *liveRun) presenceLocked(within time.Duration) presence {
	switch {
	case a.reader != nil:
		return present
	case a.streamed && a.engine.opts.Now().Sub(a.leftAt) < within:
		return returning
	}
	return absent
}

// missed is presence for a prompt. A worker that may have lost its way here together with
// the place, or that has begun to speak, has its time from the first prompt on: what it
// reads by itself is nothing for its terminal. One whose worker is a set of hooks opens
// no stream.
func (a *liveRun) missed() presence {
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

// offers reports whether the worker is connected and has offered an ability.
func (a *liveRun) offers(ability string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reader != nil && a.life.HasOffer(ability)
}

// close ends the run's stream with a last item, if that says anything. With an end
// the run is over.
func (a *liveRun) close(last workerrun.Item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = a.ended || last.End
	a.cutLocked(last)
	a.changeLocked()
}

// cutLocked ends the stream that is open.
func (a *liveRun) cutLocked(last workerrun.Item) {
	r := a.reader
	if r == nil {
		return
	}
	a.reader, a.leftAt = nil, a.engine.opts.Now()
	if last != (workerrun.Item{}) {
		select {
		case r.items <- last:
		default:
			r.lagged = true
		}
	}
	close(r.closed)
}

// putLocked returns a message to the worker, now or when it connects. The same ID is
// the same message.
func (a *liveRun) putLocked(kind worker.MessageKind, id string, data any) (*workerrun.PendingMessage, error) {
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

// sendLocked queues a message for the reader. One that is too slow is cut off.
func (a *liveRun) sendLocked(m worker.Message) {
	if a.reader == nil {
		return
	}
	select {
	case a.reader.items <- workerrun.Item{Message: &m}:
		if l := a.mailbox.Find(m.ID); l != nil {
			l.Sent = true
		}
	default:
		a.reader.lagged = true
		a.cutLocked(workerrun.Item{})
	}
}

// sendMessage returns the worker a message with a new name.
func (a *liveRun) sendMessage(kind worker.MessageKind, prefix string, data any) (id string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counter++
	id = prefix + "-" + strconv.FormatInt(a.engine.opts.Now().UnixNano(), 36) + "-" + strconv.Itoa(a.counter)
	if _, err := a.putLocked(kind, id, data); err != nil {
		return "", full(err)
	}
	return id, nil
}

// order returns the worker a message, waits until it has ended, and takes it back
// then: who asked is gone, and it must not be obeyed at another time. It returns what
// was said, nil if nothing was.
func (a *liveRun) order(ctx context.Context, kind worker.MessageKind, data any) (*workerrun.PendingMessage, error) {
	id, err := a.sendMessage(kind, string(kind), data)
	if err != nil {
		return nil, err
	}
	said := a.until(ctx, func() bool { return a.mailbox.Find(id).IsDone() })
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.mailbox.Remove(id)
	if l := a.mailbox.Find(id); said && l != nil {
		return l, nil
	}
	return nil, nil //nolint:nilnil // nothing was said
}

// remembered appends to a list that keeps its newest items.
func remembered(list []string, item string, limit int) []string {
	list = append(list, item)
	return slices.Clone(list[max(0, len(list)-limit):])
}
