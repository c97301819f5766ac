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
	"unicode/utf8"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
)

// City is the controller, as the service uses it. Its methods do not wait and never call the
// service.
type City interface {
	// Snapshot returns what the controller knows about an agent or a session. An unknown name is
	// client.ErrNotFound.
	Snapshot(name string) (session.Snapshot, error)
	// Snapshots returns the snapshots of all sessions.
	Snapshots() []session.Snapshot
}

// Options are the dependencies of a service. All fields are required.
type Options struct {
	City   City
	Store  session.PendingStore
	Events event.Log
	Logger *slog.Logger
	Now    func() time.Time
	Random func() string // at least 8 unguessable letters and digits, as of crypto/rand.Text

	// Policy returns an agent's policy. It must not block.
	Policy func(agent string) Policy
	// Sense requests a new reading of a session after an answer. It must not wait for the reading.
	Sense func(session string)
	// Notify notifies people of a question, see [Command]. At most 4 calls run at once. It must
	// return when ctx ends, at most 30 s after the call.
	Notify func(ctx context.Context, p client.Pending) error
}

const (
	endedRetention   = 24 * time.Hour
	maxEnded         = 200
	absentGrace      = time.Minute // after which a session that the city does not know counts as ended
	policyRetryDelay = time.Minute // between tries to carry out a policy
	maxPolicyTries   = 3
)

// Service manages the pending questions of one city. Its methods may be called concurrently. They
// wait until [Service.Run] has read the store.
type Service struct {
	opts      Options
	notifying chan struct{} // one element for each running call of Options.Notify

	life      engine.Lifecycle
	due       *engine.Queue // sessions to check
	published atomic.Pointer[[]client.Pending]
	calls     atomic.Pointer[map[string]ToolCall] // by the ID of their question

	mu       sync.Mutex // held during saves, so SessionChanged and listings do not use it
	entries  map[string]*entry
	history  []session.Pending // ended episodes, the earliest end first
	saver    *engine.Saver[session.Pending]
	toDelete map[string]struct{} // IDs that are still to be deleted from the store
}

// entry is the state of one session. It is guarded by the service's mu.
type entry struct {
	QuestionState
	done          chan struct{} // closed when Open has ended
	answering     bool          // an answer is being sent: snapshots are not applied meanwhile
	absentSince   time.Time     // since when the city does not know the session
	policyRunning bool          // the policy's answer is being sent
	policyTries   int           // how often the policy's answer was tried
	policyRetryAt time.Time     // when the policy is tried again
}

// New returns a service. It does nothing until Run is called.
func New(opts Options) *Service {
	d := &Service{
		opts: opts, notifying: make(chan struct{}, notifiers), life: engine.NewLifecycle(), due: engine.NewQueue(), entries: map[string]*entry{},
		toDelete: map[string]struct{}{},
	}
	d.saver = engine.NewSaver(opts.Now, d.storeLocked, func(id string, err error) {
		opts.Logger.Error("cannot save a question", "pending", id, "error", err)
	})
	d.published.Store(&[]client.Pending{})
	d.calls.Store(&map[string]ToolCall{})
	return d
}

// SessionChanged queues a session to be checked because its snapshot has changed. It never blocks.
func (d *Service) SessionChanged(session string) { d.due.Add(session) }

// Pending returns the open questions, oldest first. If target is not empty, it returns only those
// of that agent or session. With client.WithEnded it includes questions that ended recently. An
// unknown target is client.ErrNotFound.
func (d *Service) Pending(ctx context.Context, target string, which client.Which) ([]client.Pending, error) {
	if err := d.life.WaitLoaded(ctx); err != nil {
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

// Question returns one question that is open or ended recently, or client.ErrNotFound.
func (d *Service) Question(ctx context.Context, id string) (client.Pending, error) {
	if err := d.life.WaitLoaded(ctx); err != nil {
		return client.Pending{}, err
	}
	for _, p := range *d.published.Load() {
		if p.ID == id {
			return p, nil
		}
	}
	return client.Pending{}, notFound(id)
}

// ToolCall returns the tool call that the open question with this ID is about. ok is false if the
// question is about no tool call, or if its input was too long to be stored completely.
func (d *Service) ToolCall(id string) (call ToolCall, ok bool) {
	call, ok = (*d.calls.Load())[id]
	return call, ok
}

// ToolCall is the tool call that a question is about. Dir is empty if it is unknown. Guard is true
// if gc's guard asks, so that the rules of the city decide about the next such call.
type ToolCall struct {
	Tool, Input, Dir string
	Guard            bool
}

// notFound returns the error for an unknown question ID.
func notFound(id string) error {
	return fmt.Errorf("%w: no pending question is called %q; gc pending lists them", client.ErrNotFound, id)
}

// publishLocked updates the lists that [Service.Pending], [Service.Question] and [Service.ToolCall]
// read without the lock. The caller holds mu.
func (d *Service) publishLocked() {
	all := make([]client.Pending, 0, len(d.history)+len(d.entries))
	calls := map[string]ToolCall{}
	for _, p := range d.history {
		all = append(all, toClient(p))
	}
	for _, e := range d.entries {
		if e.Open != nil && e.Open.ID != "" { // a question that was just found has no ID yet
			all = append(all, toClient(*e.Open))
			if p := e.Open; p.Tool != "" && p.Input != "" && len(p.Input) <= maxPrompt-utf8.UTFMax { // not cut
				calls[p.ID] = ToolCall{p.Tool, p.Input, p.Dir, p.Guard}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b client.Pending) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	d.calls.Store(&calls)
	d.published.Store(&all)
}

// toClient returns a question in the form of the control API.
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
