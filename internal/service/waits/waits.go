package waits

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/retry"
	"gascity/internal/service/engine"
)

// City is the controller, as the service uses it. Snapshot does not wait and never calls the
// service. An unknown name is client.ErrNotFound.
type City interface {
	Snapshot(name string) (session.Snapshot, error)
}

// Prompts is the prompt engine: it has the receipts and sends the notifications.
type Prompts interface {
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error)
	Receipt(ctx context.Context, id, wait string) (client.Receipt, error)
	// BeginsBy returns until when the agent of a session may be about to start work on a delivered
	// prompt although it looks idle. Zero means that there is no such prompt.
	BeginsBy(session string) time.Time
}

// Questions is the engine of pending questions. An unknown ID is client.ErrNotFound.
type Questions interface {
	Question(ctx context.Context, id string) (client.Pending, error)
}

// Shell runs a command line once and returns nil if it exits with status 0. It returns soon after
// ctx ends and leaves no process running.
type Shell func(ctx context.Context, line string) error

// Options are the dependencies of a service. All fields are required.
type Options struct {
	City      City
	Prompts   Prompts
	Questions Questions
	Store     session.WaitStore
	Events    event.Log
	Shell     Shell // see [ShellIn]
	Logger    *slog.Logger
	Now       func() time.Time
	Random    func() string // at least 8 unguessable letters and digits, as of crypto/rand.Text
}

const (
	maxOpen        = 1000 // registered waits of a city
	maxText        = 64 << 10
	maxArg         = 16 << 10
	defaultLimit   = 24 * time.Hour
	endedRetention = time.Hour
	maxEnded       = 200
	storeLimit     = 10 * time.Second
	askLimit       = 5 * time.Second // time limit of a call to another engine
	absentGrace    = time.Minute     // after which a target that the city does not know counts as removed
)

// Service manages the waits of one city. Its methods may be called concurrently. They wait until
// [Service.Run] has read the store.
type Service struct {
	opts Options

	life engine.Lifecycle
	due  *engine.Queue // keys to check, see [entry.key]

	mu         sync.Mutex
	entries    map[*entry]struct{}            // open waits
	byKey      map[string]map[*entry]struct{} // open waits by [entry.key]
	registered map[string]*entry              // registered waits by ID, including recently ended ones
	running    int                            // number of running commands
	calls      int                            // number of calls that wait
	notifying  bool                           // owners are being notified
	notifyAt   time.Time                      // when owners are notified next
	notifyGap  *retry.Backoff
	nextAt     time.Time // when the next check is due; zero: never
	saver      *engine.Saver[session.Wait]
}

// entry is one wait. It is guarded by the service's mu.
type entry struct {
	session.Wait
	durable bool
	done    chan struct{} // closed when it has ended

	recheckAt   time.Time // when it is checked again, because its agent is about to start work on a prompt
	absentSince time.Time // since when the city does not know the target
	at          time.Time // condition time: when it holds
	next        time.Time // condition command: when the command runs next
	gap         time.Duration
	busy        bool // its command runs
	lastOutput  string
	cancel      context.CancelFunc // stops its command
}

// Prefixes of keys: sessions have another namespace than receipts and questions.
const (
	keySession = "session "
	keyRecord  = "thing "
)

// key returns the key whose change makes the entry be checked. It is empty for waits that depend
// only on time.
func (e *entry) key() string {
	switch {
	case slices.Contains(client.AgentConditions(), e.For):
		return keySession + e.Session
	case e.For == client.WaitReceipt, e.For == client.WaitPending:
		return keyRecord + e.Arg
	}
	return ""
}

// New returns a service. It does nothing until Run is called.
func New(opts Options) *Service {
	return &Service{
		opts: opts, life: engine.NewLifecycle(), due: engine.NewQueue(),
		entries: map[*entry]struct{}{}, byKey: map[string]map[*entry]struct{}{},
		registered: map[string]*entry{}, notifyGap: retry.New(minNotifyGap, maxNotifyGap),
		saver: engine.NewSaver(opts.Now, opts.Store.SaveWait, func(id string, err error) {
			opts.Logger.Error("cannot save a wait", "wait", id, "error", err)
		}),
	}
}

// SessionChanged queues the waits for a session to be checked. It never blocks.
func (w *Service) SessionChanged(session string) { w.due.Add(keySession + session) }

// Waits returns the registered waits, oldest first.
func (w *Service) Waits(ctx context.Context, which client.Which) ([]client.Wait, error) {
	if err := w.waitLoaded(ctx); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []client.Wait{}
	for _, e := range w.registered {
		if e.State == client.WaitOpen || which == client.WithEnded {
			out = append(out, toClient(e.Wait))
		}
	}
	slices.SortFunc(out, func(a, b client.Wait) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// CancelWait ends a registered wait without a notification. If the wait has ended, it returns
// client.ErrRefused.
func (w *Service) CancelWait(ctx context.Context, id string) (client.Wait, error) {
	if err := w.waitLoaded(ctx); err != nil {
		return client.Wait{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.registered[id]
	switch {
	case e == nil:
		return client.Wait{}, fmt.Errorf("%w: no wait is called %q; gc wait list shows them", client.ErrNotFound, id)
	case e.State != client.WaitOpen:
		return client.Wait{}, fmt.Errorf("%w: the wait %s has ended already: %s", client.ErrRefused, id, e.State)
	}
	w.endLocked(ctx, e, verdict{client.WaitCancelled, ""})
	return toClient(e.Wait), nil
}

// waitLoaded waits until the store has been read. It returns an error if Run has ended.
func (w *Service) waitLoaded(ctx context.Context) error {
	select {
	case <-w.life.Ended():
		return engine.ErrEnded
	default:
		return w.life.WaitLoaded(ctx)
	}
}

// toClient returns the wait as the control API returns it.
func toClient(w session.Wait) client.Wait {
	return client.Wait{
		ID: w.ID, Target: w.Target, For: w.For, Arg: w.Arg, Owner: w.Owner, Text: w.Text, State: w.State, Reason: w.Reason,
		Receipt: w.Receipt, CreatedAt: w.CreatedAt, Deadline: w.Deadline, EndedAt: w.EndedAt,
	}
}
