package exchange

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/session"
	"gascity/worker"
)

const (
	// MaxContext is the most bytes that the sections of one order may have.
	MaxContext = 512 << 10
	// maxSections is how many sections an epoch may have, of maxType bytes each in name.
	maxSections = 64
	maxType     = 64
)

// given is what a run has had of context. It is never changed in place.
type given struct {
	Epoch     int       `json:"epoch"` // compactions of the conversation so far
	Compacted time.Time `json:"compacted,omitzero"`
	Types     []string  `json:"types,omitempty"` // of sections in this epoch
	Again     int       `json:"again,omitempty"` // messages that have arrived without their sections
	// Open are those of them that are in a message of which the worker has said
	// nothing: should the message be lost with its controller, it is sent again under
	// its name.
	Open map[string][]string `json:"open,omitempty"`
	// Owed: the city's own sections of this epoch are to be given still.
	Owed bool `json:"owed,omitempty"`
}

// with adds what was given since.
func (g given) with(later given) given {
	if later.Epoch > 0 {
		later.Epoch += g.Epoch
		return later
	}
	g.Types = slices.Concat(g.Types, later.Types)
	g.Open = maps.Clone(g.Open)
	if g.Open == nil {
		g.Open = map[string][]string{}
	}
	maps.Copy(g.Open, later.Open)
	return g
}

// Context keeps the contract of workerapi.Orders. A section that this epoch has had
// is not given again. A worker that takes context gets it by its stream, and any
// other agent as a prompt before all others.
func (e *Engine) Context(ctx context.Context, c worker.Context) (worker.ContextAnswer, error) {
	a, err := e.named(c.RunID)
	if err != nil {
		return worker.ContextAnswer{}, err
	}
	if err := checkContext(c); err != nil {
		return worker.ContextAnswer{}, err
	}
	v, err := e.opts.City.View(a.session)
	if err != nil {
		return worker.ContextAnswer{}, inWords(err)
	}
	orders, answer, err := a.newOrders(c)
	if err != nil || len(orders) == 0 {
		return answer, err
	}
	if err := a.remember(v.Provider); err != nil { // before a worker can get it, and a later controller give it again
		a.takeBack(orders)
		return worker.ContextAnswer{}, fmt.Errorf("%w: that the sections are given cannot be kept: %w", worker.ErrUnavailable, err)
	}
	for i, o := range orders {
		if answer.ID, err = e.give(ctx, a, o); err != nil {
			a.takeBack(orders[i:])
			e.keep(a)
			return worker.ContextAnswer{}, err
		}
	}
	return answer, nil
}

// order is one message with sections.
type order struct {
	id string
	worker.Context
}

// give gives sections by the stream, or as a prompt where no worker takes context.
func (e *Engine) give(ctx context.Context, a *active, o order) (id string, err error) {
	if a.offers(worker.OfferContext) {
		a.mu.Lock()
		defer a.mu.Unlock()
		_, err := a.putLocked(worker.ContextMessage, o.id, o.Context)
		return o.id, full(err)
	}
	id, err = e.asPrompt(ctx, a, o.Context)
	if err == nil {
		a.mu.Lock()
		a.closedLocked(o.id)
		a.mu.Unlock()
		e.keep(a)
	}
	return id, err
}

func checkContext(c worker.Context) error {
	size := 0
	for _, s := range c.Sections {
		if s.Type == "" || len(s.Type) > maxType {
			return fmt.Errorf("%w: a section's type has %d bytes, must have 1 to %d", worker.ErrInvalid, len(s.Type), maxType)
		}
		size += len(s.Content)
	}
	if len(c.Sections) == 0 {
		return fmt.Errorf("%w: there are no sections", worker.ErrInvalid)
	}
	if size > MaxContext {
		return fmt.Errorf("%w: the sections have %d bytes, at most %d are given", worker.ErrTooLarge, size, MaxContext)
	}
	return nil
}

// newOrders notes sections as given, with a nonce each, and leaves out those that this
// epoch has had. Sections of a message that was lost go under its name again.
func (a *active) newOrders(c worker.Context) ([]order, worker.ContextAnswer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := worker.ContextAnswer{Accepted: true}
	if len(a.given.Types)+len(c.Sections) > maxSections {
		return nil, worker.ContextAnswer{}, fmt.Errorf("%w: an epoch has at most %d sections", worker.ErrRefused, maxSections)
	}
	var ids []string
	of := map[string][]worker.Section{}
	fresh := ""
	next := a.given.with(given{})
	for _, s := range c.Sections {
		id := a.lostLocked(s.Type)
		switch {
		case id != "":
		case slices.Contains(next.Types, s.Type):
			answer.Skipped = append(answer.Skipped, s.Type)
			continue
		default:
			if fresh == "" {
				fresh = "context-" + strconv.Itoa(next.Epoch) + "-" + strconv.Itoa(next.Again) + "-" + a.nonceOf(s.Type)
			}
			id = fresh
			next.Types = append(next.Types, s.Type)
			next.Open[id] = append(slices.Clone(next.Open[id]), s.Type)
		}
		if of[id] == nil {
			ids = append(ids, id)
		}
		s.Nonce = "gc-" + a.nonceOf(s.Type)
		s.Content += "\n\n[" + s.Nonce + "]"
		of[id] = append(of[id], s)
	}
	a.given = next
	var orders []order
	for _, id := range ids {
		orders = append(orders, order{id, worker.Context{RunID: a.id, Sections: of[id], Mode: c.Mode, Epoch: a.given.Epoch}})
	}
	return orders, answer, nil
}

// lostLocked is the name of the message with a section that an earlier controller
// sent, and of which nothing was heard; empty if there is none.
func (a *active) lostLocked(kind string) string {
	for id, types := range a.given.Open {
		if slices.Contains(types, kind) && a.box.Find(id) == nil {
			return id
		}
	}
	return ""
}

// nonceOf names a section of this epoch: the same section has the same.
func (a *active) nonceOf(kind string) string {
	mac := hmac.New(sha256.New, []byte(a.instance))
	fmt.Fprintf(mac, "nonce %d %s", a.given.Epoch, kind)
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil))[:10])
}

// takeBack takes sections for not given.
func (a *active) takeBack(orders []order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := a.given.with(given{})
	for _, o := range orders {
		delete(next.Open, o.id)
		next.Types = slices.DeleteFunc(next.Types, func(t string) bool {
			return slices.ContainsFunc(o.Sections, func(s worker.Section) bool { return s.Type == t })
		})
	}
	a.given = next
}

// closedLocked notes that a message with sections has arrived.
func (a *active) closedLocked(id string) {
	next := a.given.with(given{})
	delete(next.Open, id)
	a.given = next
}

// compactedLocked begins a new epoch, in which every section is new again. A report
// of an earlier compaction changes nothing. It reports whether it did.
func (a *active) compactedLocked(at time.Time) bool {
	if !at.After(a.given.Compacted) {
		return false
	}
	for id := range a.given.Open {
		a.box.Drop(id)
	}
	a.given = given{Epoch: a.given.Epoch + 1, Compacted: at, Owed: a.engine.opts.Sections != nil}
	return true
}

// asPrompt gives context as a prompt; the same sections are one prompt.
func (e *Engine) asPrompt(ctx context.Context, a *active, c worker.Context) (string, error) {
	if e.opts.Prompts == nil {
		return "", errNoPrompts
	}
	parts := make([]string, len(c.Sections))
	for i, s := range c.Sections {
		parts[i] = s.Content
	}
	r, err := e.opts.Prompts.Nudge(ctx, a.session, client.NudgeRequest{
		Text: strings.Join(parts, "\n\n"), Priority: string(worker.System), Source: "prime", Instance: session.PublicInstance(a.instance),
		Key: "context " + a.id + " " + c.Sections[0].Nonce,
	})
	if err != nil {
		return "", inWords(err)
	}
	return r.ID, nil
}

// verify looks whether sections that a worker was given have been seen in the
// conversation. What has not is given as a prompt, once.
func (e *Engine) verify(ctx context.Context, a *active, id string) error {
	a.mu.Lock()
	_, open := a.given.Open[id]
	l := a.box.Find(id)
	if !open || !l.Ended() {
		a.mu.Unlock()
		return nil
	}
	data, seen := l.Data, l.Nonces
	a.mu.Unlock()
	if len(data) == 0 {
		return e.verifyLost(a, id, seen)
	}
	var c worker.Context
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	c.Sections = slices.DeleteFunc(c.Sections, func(s worker.Section) bool { return slices.Contains(seen, s.Nonce) })
	if len(c.Sections) > 0 {
		if _, err := e.asPrompt(ctx, a, c); err != nil {
			return err // the worker repeats its word, and it is tried again
		}
	}
	a.mu.Lock()
	a.closedLocked(id)
	l.Data = nil
	a.mu.Unlock()
	e.keep(a)
	return nil
}

// verifyLost is verify for a message of an earlier controller: what it said is not
// known any more, and what was not seen counts as not given.
func (e *Engine) verifyLost(a *active, id string, seen []string) error {
	a.mu.Lock()
	next := a.given.with(given{})
	for _, kind := range next.Open[id] {
		if !slices.Contains(seen, "gc-"+a.nonceOf(kind)) {
			next.Types = slices.DeleteFunc(next.Types, func(t string) bool { return t == kind })
		}
	}
	delete(next.Open, id)
	next.Again++
	a.given = next
	a.mu.Unlock()
	e.keep(a)
	return nil
}
