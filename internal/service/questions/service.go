package questions

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/workqueue"
)

// City is what a desk knows of the controller. Both methods answer at once, from
// what the controller knows, and never call the desk.
type City interface {
	// Snapshot returns what is known of an agent or session. An unknown name is
	// client.ErrNotFound.
	Snapshot(name string) (session.Snapshot, error)
	// Snapshots returns all views.
	Snapshots() []session.Snapshot
}

// Options are what a desk is made of. Fields are required unless they say
// otherwise.
type Options struct {
	City   City
	Store  session.PendingStore
	Events event.Log
	Logger *slog.Logger
	Now    func() time.Time
	Random func() string // at least 8 unguessable letters and digits, as of crypto/rand.Text

	// Policy returns an agent's policy; nil means the zero Policy for all. It
	// answers at once.
	Policy func(agent string) Policy
	// Sense asks for a fresh reading of a session after an answer; nil asks for
	// none. It does not wait for it.
	Sense func(session string)
	// Notify notifies people of a question, see [Command]; nil: no
	// notification. It is called at most 4 times at once, gets 30 s, and must
	// return when ctx ends.
	Notify func(ctx context.Context, p client.Pending) error
}

const (
	endedRetention   = 24 * time.Hour
	maxEnded         = 200
	saveLimit        = 10 * time.Second
	saveRetryDelay   = 5 * time.Second // between tries to save what could not be saved
	absentGrace      = time.Minute     // after which a session that the city does not know is over
	policyRetryDelay = time.Minute     // between tries to carry out a policy
	maxPolicyTries   = 3
)

// Service is the engine of pending questions of one city. Its methods may be
// called concurrently, and answer from the moment that [Service.Run] has loaded.
type Service struct {
	opts   Options
	alerts *alerts

	loaded    chan struct{}    // closed when the store has been read
	ended     chan struct{}    // closed when Run returns
	due       *workqueue.Queue // sessions to look at
	published atomic.Pointer[[]client.Pending]

	mu       sync.Mutex // held over saves, so never by Look and listings
	entries  map[string]*entry
	history  []session.Pending          // ended, the earliest end first
	unsaved  map[string]session.Pending // by ID; what the store did not take
	saveAt   time.Time                  // when that is tried again
	toDelete map[string]struct{}        // IDs that the store is still to forget
}

// entry is what the desk keeps of one session. It is guarded by the desk's mu.
type entry struct {
	QuestionState
	done          chan struct{} // closed when Open has ended
	answering     bool          // an answer is being handed over: nothing is concluded until it has been
	absentSince   time.Time     // since when the city does not know the session
	policyRunning bool          // the policy is being carried out
	policyTries   int           // to carry out the policy
	policyRetryAt time.Time     // when the overdue policy is looked at again
}

// New returns a desk. It does nothing before it runs.
func New(opts Options) *Service {
	if opts.Policy == nil {
		opts.Policy = func(string) Policy { return Policy{} }
	}
	d := &Service{
		opts: opts, loaded: make(chan struct{}), ended: make(chan struct{}), due: workqueue.NewQueue(),
		entries: map[string]*entry{}, unsaved: map[string]session.Pending{}, toDelete: map[string]struct{}{},
	}
	d.alerts = &alerts{notify: d.notify}
	d.published.Store(&[]client.Pending{})
	return d
}

// SessionChanged says that something about the session has changed. It never blocks and
// may be called at any time.
func (d *Service) SessionChanged(session string) { d.due.Add(session) }

// Pending lists what blocks agents, oldest first; of one agent or session if
// target is not empty. An unknown target is client.ErrNotFound.
func (d *Service) Pending(ctx context.Context, target string, which client.Which) ([]client.Pending, error) {
	if err := d.waitLoaded(ctx); err != nil {
		return nil, err
	}
	known := target == ""
	out := []client.Pending{}
	for _, p := range *d.published.Load() {
		if target != "" && p.Agent != target && p.Session != target {
			continue
		}
		known = true
		if p.State == client.PendingOpen || which == client.WithEnded {
			out = append(out, p)
		}
	}
	if !known {
		if _, err := d.opts.City.Snapshot(target); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Question returns one pending question, open or recently ended;
// client.ErrNotFound if it is not kept.
func (d *Service) Question(ctx context.Context, id string) (client.Pending, error) {
	if err := d.waitLoaded(ctx); err != nil {
		return client.Pending{}, err
	}
	for _, p := range *d.published.Load() {
		if p.ID == id {
			return p, nil
		}
	}
	return client.Pending{}, notFound(id)
}

func notFound(id string) error {
	return fmt.Errorf("%w: no pending question is called %q; gc pending lists them", client.ErrNotFound, id)
}

// waitLoaded waits until the store has been read.
func (d *Service) waitLoaded(ctx context.Context) error {
	select {
	case <-d.loaded:
		return nil
	default:
	}
	select {
	case <-d.loaded:
		return nil
	case <-d.ended:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errEnded = fmt.Errorf("%w: the controller has ended", client.ErrUnavailable)

// publish renews the list that is shown.
func (d *Service) publishLocked() {
	all := make([]client.Pending, 0, len(d.history)+len(d.entries))
	for _, p := range d.history {
		all = append(all, toClient(p))
	}
	for _, e := range d.entries {
		if e.Open != nil && e.Open.ID != "" { // one that is about to be raised has none yet
			all = append(all, toClient(*e.Open))
		}
	}
	slices.SortStableFunc(all, func(a, b client.Pending) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	d.published.Store(&all)
}

// toClient returns the episode as the control API returns it.
func toClient(p session.Pending) client.Pending {
	out := client.Pending{
		ID: p.ID, Agent: p.Agent, Session: p.Session, Instance: p.Instance, Kind: p.Kind, Prompt: p.Prompt, Options: p.Options,
		Tool: p.Tool, Input: p.Input, Source: p.Source, Why: p.Why, NoText: p.NoText, Suggested: p.Suggest, Since: p.Since, Until: p.Until, Deadline: p.Deadline, Policy: p.Policy,
		Default: p.Default, Escalated: p.Escalated, State: p.State, EndedAt: p.EndedAt,
	}
	if p.State != client.PendingOpen {
		out.Answer, out.AnsweredBy = p.Answer, p.AnsweredBy
	}
	return out
}
