package exchange

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"gascity/internal/run"
	"gascity/runtime"
	"gascity/worker"
)

// active is a run that lives.
type active struct {
	engine                       *Engine
	session, agent, instance, id string

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced by each change
	starting bool
	over     bool
	life     run.Life
	box      run.Mailbox
	reader   *reader
	asked    []*question
	health   worker.Health
	heard    time.Time // when the worker last said anything
	sent     []string  // the prompts that went by the stream, the newest last
	given    given
	verified map[string]bool // context messages whose nonces were looked for
	counter  int
}

// reader is a stream that is open.
type reader struct {
	items chan run.Item
	gone  chan struct{} // closed when it has been replaced or cut off
}

// maxLag is how many items a reader may be behind.
const maxLag = 1024

func newActive(e *Engine, name, agent, instance string) *active {
	return &active{
		engine: e, session: name, agent: agent, instance: instance, id: run.ID(instance), changed: make(chan struct{}),
	}
}

func (a *active) isStarting() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.starting
}

func (a *active) setStarting(is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.starting = is
}

// changeLocked wakes who waits.
func (a *active) changeLocked() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// until waits until done, which is called with the lock, says so; false if ctx or
// the run ends first.
func (a *active) until(ctx context.Context, done func() bool) bool {
	for {
		a.mu.Lock()
		ok, over, changed := done(), a.over, a.changed
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

// connected reports whether a worker reads the run's stream.
func (a *active) connected() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reader != nil
}

// close ends the run's stream with a last item, if that says anything. With an end
// the run is over.
func (a *active) close(last run.Item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = a.over || last.End
	a.cutLocked(last)
	a.changeLocked()
}

// cutLocked ends the stream that is open.
func (a *active) cutLocked(last run.Item) {
	r := a.reader
	if r == nil {
		return
	}
	a.reader = nil
	if last != (run.Item{}) {
		select {
		case r.items <- last:
		default: // its queue is full, which is a reason of its own
		}
	}
	close(r.gone)
}

// putLocked gives a message to the worker, now or when it connects. The same ID is
// the same message.
func (a *active) putLocked(kind worker.MessageKind, id string, data any) (*run.Letter, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	if l := a.box.Find(id); l != nil {
		return l, nil
	}
	l := a.box.Put(worker.Message{ID: id, Kind: kind, At: a.engine.opts.Now(), Data: text})
	a.sendLocked(l.Message)
	a.changeLocked()
	return l, nil
}

// sendLocked queues a message for the reader. One that is too slow is cut off.
func (a *active) sendLocked(m worker.Message) {
	if a.reader == nil {
		return
	}
	select {
	case a.reader.items <- run.Item{Message: &m}:
		if l := a.box.Find(m.ID); l != nil {
			l.Sent = true
		}
	default:
		a.cutLocked(run.Item{})
	}
}

// MetaMemory is the note in which a session keeps what a later controller must know
// of its run.
const MetaMemory = "GC_WORKER_RUN"

// memory is that.
type memory struct {
	Life  run.Life `json:"life"`
	Sent  []string `json:"sent,omitempty"`
	Given given    `json:"given,omitzero"`
}

// maxSent is how many prompts by the stream are remembered.
const maxSent = 8

// noteLocked is what is to be remembered.
func (a *active) noteLocked() (string, error) {
	text, err := json.Marshal(memory{a.life, a.sent, a.given})
	return string(text), err
}

// remember keeps the run's memory with its session.
func (a *active) remember(p runtime.Provider) error {
	a.mu.Lock()
	text, err := a.noteLocked()
	a.mu.Unlock()
	if err != nil || p == nil {
		return err
	}
	return p.SetMeta(a.session, MetaMemory, text)
}

// recall reads what an earlier controller knew. What was told meanwhile stays.
func (a *active) recall(p runtime.Provider) {
	if p == nil {
		return
	}
	text, err := p.GetMeta(a.session, MetaMemory)
	var m memory
	if err != nil || text == "" || json.Unmarshal([]byte(text), &m) != nil {
		return // a run without a past, or one that tells again
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range m.Life.Reports {
		a.life, _ = a.life.Told(r, a.engine.opts.Now())
	}
	a.sent = append(m.Sent, a.sent...)
	a.given.Epoch += m.Given.Epoch
	if len(a.given.Types) == 0 {
		a.given.Types = m.Given.Types
	}
	a.changeLocked()
}
