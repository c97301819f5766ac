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
	// View returns what is known of an agent or session. An unknown name is
	// client.ErrNotFound.
	View(name string) (session.View, error)
	// Views returns all views.
	Views() []session.View
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
	keepEnded  = 24 * time.Hour
	keepCount  = 200
	saveLimit  = 10 * time.Second
	saveEvery  = 5 * time.Second // between tries to save what could not be saved
	absentFor  = time.Minute     // after which a session that the city does not know is over
	policyWait = time.Minute     // between tries to carry out a policy
	policyMost = 3
)

// Desk is the engine of pending questions of one city. Its methods may be
// called concurrently, and answer from the moment that [Desk.Run] has loaded.
type Desk struct {
	opts   Options
	alerts *alerts

	loaded chan struct{}  // closed when the store has been read
	ended  chan struct{}  // closed when Run returns
	due    *workqueue.Set // sessions to look at
	shown  atomic.Pointer[[]client.Pending]

	mu      sync.Mutex // held over saves, so never by Look and listings
	entries map[string]*entry
	old     []session.Pending          // ended, the earliest end first
	unsaved map[string]session.Pending // by ID; what the store did not take
	saveAt  time.Time                  // when that is tried again
	forget  map[string]struct{}        // IDs that the store is still to forget
}

// entry is what the desk keeps of one session. It is guarded by the desk's mu.
type entry struct {
	Case
	over    chan struct{} // closed when Open has ended
	sending bool          // an answer is being handed over: nothing is concluded until it has been
	absent  time.Time     // since when the city does not know the session
	acting  bool          // the policy is being carried out
	tries   int           // to carry out the policy
	again   time.Time     // when the overdue policy is looked at again
}

// New returns a desk. It does nothing before it runs.
func New(opts Options) *Desk {
	if opts.Policy == nil {
		opts.Policy = func(string) Policy { return Policy{} }
	}
	d := &Desk{
		opts: opts, loaded: make(chan struct{}), ended: make(chan struct{}), due: workqueue.NewSet(),
		entries: map[string]*entry{}, unsaved: map[string]session.Pending{}, forget: map[string]struct{}{},
	}
	d.alerts = &alerts{notify: d.notify}
	d.shown.Store(&[]client.Pending{})
	return d
}

// Look says that something about the session has changed. It never blocks and
// may be called at any time.
func (d *Desk) Look(session string) { d.due.Mark(session) }

// Pending lists what blocks agents, oldest first; of one agent or session if
// target is not empty. An unknown target is client.ErrNotFound.
func (d *Desk) Pending(ctx context.Context, target string, which client.Which) ([]client.Pending, error) {
	if err := d.await(ctx); err != nil {
		return nil, err
	}
	known := target == ""
	out := []client.Pending{}
	for _, p := range *d.shown.Load() {
		if target != "" && p.Agent != target && p.Session != target {
			continue
		}
		known = true
		if p.State == client.PendingOpen || which == client.WithEnded {
			out = append(out, p)
		}
	}
	if !known {
		if _, err := d.opts.City.View(target); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Question returns one pending question, open or recently ended;
// client.ErrNotFound if it is not kept.
func (d *Desk) Question(ctx context.Context, id string) (client.Pending, error) {
	if err := d.await(ctx); err != nil {
		return client.Pending{}, err
	}
	for _, p := range *d.shown.Load() {
		if p.ID == id {
			return p, nil
		}
	}
	return client.Pending{}, unknown(id)
}

func unknown(id string) error {
	return fmt.Errorf("%w: no pending question is called %q; gc pending lists them", client.ErrNotFound, id)
}

// await waits until the store has been read.
func (d *Desk) await(ctx context.Context) error {
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
func (d *Desk) publishLocked() {
	all := make([]client.Pending, 0, len(d.old)+len(d.entries))
	for _, p := range d.old {
		all = append(all, show(p))
	}
	for _, e := range d.entries {
		if e.Open != nil && e.Open.ID != "" { // one that is about to be raised has none yet
			all = append(all, show(*e.Open))
		}
	}
	slices.SortStableFunc(all, func(a, b client.Pending) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	d.shown.Store(&all)
}

// show returns the episode as the control API returns it.
func show(p session.Pending) client.Pending {
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
