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
	"gascity/internal/workqueue"
)

// City is what the waits know of the controller. View answers at once, from what
// the controller knows, and never calls the waits. An unknown name is
// client.ErrNotFound.
type City interface {
	Snapshot(name string) (session.Snapshot, error)
}

// Prompts is where receipts are kept, and where notifications are sent.
type Prompts interface {
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error)
	Receipt(ctx context.Context, id, wait string) (client.Receipt, error)
	// BeginsBy is until when the agent of a session may be about to begin with a prompt
	// although it seems to rest; zero: with none.
	BeginsBy(session string) time.Time
}

// Questions is where pending questions are. An unknown ID is
// client.ErrNotFound.
type Questions interface {
	Question(ctx context.Context, id string) (client.Pending, error)
}

// Shell runs a command line once and returns nil if it exits 0. It returns soon
// after ctx ends, and leaves no process behind.
type Shell func(ctx context.Context, line string) error

// Options are what the waits of a city are made of. All fields are required.
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
	saveLimit      = 10 * time.Second
	askLimit       = 5 * time.Second // for a question to another engine
	absentGrace    = time.Minute     // after which a target that the city does not know is removed
	maxPause       = 1000 * time.Hour
)

// Service is the engine of what is waited for in one city. Its methods may be
// called concurrently, and answer from the moment that [Service.Run] has loaded.
type Service struct {
	opts Options

	loaded chan struct{}    // closed when the store has been read
	ended  chan struct{}    // closed when Run returns
	due    *workqueue.Queue // keys to look at: see [entry.key]

	mu         sync.Mutex
	entries    map[*entry]struct{}            // open ones
	byKey      map[string]map[*entry]struct{} // the same by what they depend on
	registered map[string]*entry              // registered ones by ID, recently ended ones too
	running    int                            // commands
	calls      int                            // that wait
	notifying  bool                           // owners are being notified
	notifyAt   time.Time                      // not before
	notifyGap  time.Duration
	nextAt     time.Time // nothing is due before; zero: never
	unsaved    map[string]struct{}
}

// entry is one wait. It is guarded by the mu of the waits.
type entry struct {
	session.Wait
	durable bool
	done    chan struct{} // closed when it has ended

	recheckAt   time.Time // when it is looked at next: its agent is about to begin with a prompt
	absentSince time.Time // since when the city does not know the target
	at          time.Time // of time
	next        time.Time // of command: when it is run next
	gap         time.Duration
	busy        bool // its command runs
	lastOutput  string
	cancel      context.CancelFunc // ends its command
}

// The prefixes keep sessions, receipts and questions apart.
const (
	keySession = "session "
	keyThing   = "thing "
)

// key returns what says that the entry is to be looked at; empty: only time does.
func (e *entry) key() string {
	switch {
	case slices.Contains(aboutSession, e.For):
		return keySession + e.Session
	case e.For == client.WaitReceipt, e.For == client.WaitPending:
		return keyThing + e.Arg
	}
	return ""
}

// New returns the waits of a city. They do nothing before they run.
func New(opts Options) *Service {
	return &Service{
		opts: opts, loaded: make(chan struct{}), ended: make(chan struct{}), due: workqueue.NewQueue(),
		entries: map[*entry]struct{}{}, byKey: map[string]map[*entry]struct{}{},
		registered: map[string]*entry{}, unsaved: map[string]struct{}{},
	}
}

// SessionChanged says that something about the session has changed. It never blocks and
// may be called at any time.
func (w *Service) SessionChanged(session string) { w.due.Add(keySession + session) }

// ReceiptChanged says that something about a receipt has changed, like Look. Events
// that name it say so too.
func (w *Service) ReceiptChanged(id string) { w.due.Add(keyThing + id) }

// PendingChanged is [Service.ReceiptChanged] for a pending question.
func (w *Service) PendingChanged(id string) { w.due.Add(keyThing + id) }

// Waits lists the registered waits, oldest first.
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

// CancelWait ends a registered wait, without a notification. One that has ended
// is client.ErrRefused.
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

// waitLoaded waits until the store has been read.
func (w *Service) waitLoaded(ctx context.Context) error {
	select {
	case <-w.ended:
		return errEnded
	default:
	}
	select {
	case <-w.loaded:
		return nil
	case <-w.ended:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errEnded = fmt.Errorf("%w: the controller has ended", client.ErrUnavailable)

// toClient returns the wait as the control API returns it.
func toClient(w session.Wait) client.Wait {
	return client.Wait{
		ID: w.ID, Target: w.Target, For: w.For, Arg: w.Arg, Owner: w.Owner, Text: w.Text, State: w.State, Reason: w.Reason,
		Receipt: w.Receipt, CreatedAt: w.CreatedAt, Deadline: w.Deadline, EndedAt: w.EndedAt,
	}
}
