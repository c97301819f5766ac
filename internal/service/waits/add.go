package waits

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
)

// Await returns when the condition holds or can never hold; the State of the result shows which. It
// returns client.ErrTimeout after req.Timeout, and the cause of ctx when ctx ends. It ignores
// req.Owner and req.Text. At most 4,096 calls may wait; another call gets client.ErrUnavailable.
func (w *Service) Await(ctx context.Context, req client.WaitRequest) (client.Wait, error) {
	req.Owner, req.Text = "", ""
	e, err := w.begin(ctx, req)
	if err != nil {
		return client.Wait{}, err
	}
	if err := w.addCall(e); err != nil {
		return client.Wait{}, err
	}
	w.due.Wake()
	select {
	case <-e.done:
	case <-w.life.Ended():
		err = engine.ErrEnded
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropLocked(e)
	w.calls--
	switch e.State {
	case client.WaitOpen:
		return client.Wait{}, err
	case client.WaitExpired:
		return client.Wait{}, fmt.Errorf("%w: waited %s until %s; %s", client.ErrTimeout, req.Timeout, sentence(e.Wait), cmp.Or(e.Reason, "the condition was not met"))
	}
	return toClient(e.Wait), nil
}

// maxCalls is how many calls may wait at the same time.
const maxCalls = 4096

// addCall adds a wait that a caller of [Service.Await] waits for to the waits that are checked. It
// returns client.ErrUnavailable if [maxCalls] calls wait already.
func (w *Service) addCall(e *entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls >= maxCalls {
		return fmt.Errorf("%w: %d calls wait already; ask later, or register the wait: gc wait --register", client.ErrUnavailable, maxCalls)
	}
	w.calls++
	w.putLocked(e)
	return nil
}

// AddWait registers a wait of an agent. The wait is saved when AddWait returns. A city has at most
// 1,000 open registered waits; another one is client.ErrRefused.
func (w *Service) AddWait(ctx context.Context, req client.WaitRequest) (client.Wait, error) {
	if req.Owner == "" {
		return client.Wait{}, fmt.Errorf("%w: a registered wait needs an owner: the agent to notify", client.ErrInvalid)
	}
	req.Timeout = cmp.Or(req.Timeout, defaultLimit)
	e, err := w.begin(ctx, req)
	if err != nil {
		return client.Wait{}, err
	}
	owner, err := w.opts.City.Snapshot(req.Owner)
	if err != nil {
		return client.Wait{}, fmt.Errorf("the owner must be an agent of the city: %w", err)
	}
	e.durable = true
	e.Owner = cmp.Or(owner.Agent, req.Owner)
	e.OwnerInstance, e.OwnerConversation = owner.Instance, owner.Conversation.ID
	return w.register(ctx, e)
}

// register saves a wait and adds it to the waits that are checked.
func (w *Service) register(ctx context.Context, e *entry) (client.Wait, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	open := 0
	for _, other := range w.registered {
		if other.State == client.WaitOpen {
			open++
		}
	}
	if open >= maxOpen {
		return client.Wait{}, fmt.Errorf("%w: %d waits are open already; cancel some: gc wait list", client.ErrRefused, open)
	}
	e.ID = engine.NewID("w-", w.opts.Random, func(id string) bool { return w.registered[id] != nil })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	if err := w.opts.Store.SaveWait(ctx, e.Wait); err != nil {
		return client.Wait{}, fmt.Errorf("%w: cannot save the wait: %w", client.ErrUnavailable, err)
	}
	w.registered[e.ID] = e
	w.putLocked(e)
	w.due.Wake()
	w.emit(ctx, event.WaitAdded, e.Wait, fmt.Sprintf("%s waits until %s", e.Owner, sentence(e.Wait)), map[string]string{
		"id": e.ID, "for": e.For, "deadline": e.Deadline.Format(time.RFC3339),
	})
	return toClient(e.Wait), nil
}

// begin checks a request and returns a new wait for it, which is not registered yet. It returns an
// error if the agent, receipt or question to wait for does not exist.
func (w *Service) begin(ctx context.Context, req client.WaitRequest) (*entry, error) {
	if err := w.waitLoaded(ctx); err != nil {
		return nil, err
	}
	now := w.opts.Now()
	e := &entry{done: make(chan struct{}), Wait: session.Wait{
		Target: req.Target, For: req.For, Arg: req.Arg, Text: req.Text, CreatedAt: now, State: client.WaitOpen,
	}}
	switch {
	case len(req.Text) > maxText || len(req.Arg) > maxArg:
		return nil, fmt.Errorf("%w: a text of a wait has at most %d bytes, an argument %d", client.ErrInvalid, maxText, maxArg)
	case req.Timeout < 0:
		return nil, fmt.Errorf("%w: the timeout of a wait must not be negative", client.ErrInvalid)
	case req.Timeout > 0:
		e.Deadline = now.Add(req.Timeout)
	}
	return e, w.completeCondition(ctx, e)
}

// completeCondition checks the condition of a new wait and sets the fields that depend on it, such
// as the session.
func (w *Service) completeCondition(ctx context.Context, e *entry) (err error) {
	now := e.CreatedAt
	switch {
	case slices.Contains(client.AgentConditions(), e.For):
		if e.Target == "" {
			return fmt.Errorf("%w: a wait for %s needs a target: the name of an agent or a session", client.ErrInvalid, e.For)
		}
		v, err := w.opts.City.Snapshot(e.Target)
		if err != nil {
			return err
		}
		e.Session, e.Instance = v.Session, v.Instance
		return nil
	case e.Arg == "":
		return fmt.Errorf("%w: %q needs an argument, or is not a known condition", client.ErrInvalid, e.For)
	case e.For == client.WaitReceipt:
		_, err = w.opts.Prompts.Receipt(ctx, e.Arg, "")
	case e.For == client.WaitPending:
		_, err = w.opts.Questions.Question(ctx, e.Arg)
	case e.For == client.WaitTime:
		e.at, err = parseTime(e.Arg, now)
		e.Arg = e.at.Format(time.RFC3339Nano)
	case e.For == client.WaitCommand:
		e.next, e.gap = now, firstGap
	default:
		err = fmt.Errorf("%w: %q cannot be waited for", client.ErrInvalid, e.For)
	}
	return err
}

// putLocked adds an entry to the waits that are checked. It is checked at once.
func (w *Service) putLocked(e *entry) {
	w.entries[e] = struct{}{}
	if key := e.key(); key != "" {
		if w.byKey[key] == nil {
			w.byKey[key] = map[*entry]struct{}{}
		}
		w.byKey[key][e] = struct{}{}
		w.due.Add(key)
	}
	w.setDueLocked(e.due())
}

// dropLocked removes an entry from the waits that are checked, and stops its command.
func (w *Service) dropLocked(e *entry) {
	delete(w.entries, e)
	key := e.key()
	delete(w.byKey[key], e)
	if len(w.byKey[key]) == 0 {
		delete(w.byKey, key)
	}
	if e.cancel != nil {
		e.cancel()
	}
}
