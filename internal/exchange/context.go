package exchange

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/session"
	"gascity/worker"
)

// MaxContext is the most bytes that the sections of one order may have.
const MaxContext = 512 << 10

// given is what a run has had of context.
type given struct {
	Epoch int      `json:"epoch"`           // compactions of the conversation so far
	Types []string `json:"types,omitempty"` // of sections in this epoch
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
	a.mu.Lock()
	var answer worker.ContextAnswer
	c.Sections, answer.Skipped = a.newLocked(c.Sections)
	c.Epoch = a.given.Epoch
	offers := a.reader != nil && a.life.Offers(worker.OfferContext)
	a.mu.Unlock()
	answer.Accepted = true
	if len(c.Sections) == 0 {
		return answer, nil
	}
	if offers {
		_, answer.ID, err = a.tell(worker.ContextMessage, "context", c)
	} else {
		answer.ID, err = e.asPrompt(ctx, a, c)
	}
	if err != nil {
		a.mu.Lock()
		a.given.Types = slices.DeleteFunc(a.given.Types, func(t string) bool {
			return slices.ContainsFunc(c.Sections, func(s worker.Section) bool { return s.Type == t })
		})
		a.mu.Unlock()
		return worker.ContextAnswer{}, err
	}
	e.rememberLater(a)
	return answer, nil
}

func checkContext(c worker.Context) error {
	size := 0
	for _, s := range c.Sections {
		if s.Type == "" {
			return fmt.Errorf("%w: a section has no type", worker.ErrInvalid)
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

// newLocked notes sections as given, with a nonce each, and leaves out those that
// this epoch has had.
func (a *active) newLocked(sections []worker.Section) (fresh []worker.Section, skipped []string) {
	for _, s := range sections {
		if slices.Contains(a.given.Types, s.Type) {
			skipped = append(skipped, s.Type)
			continue
		}
		a.given.Types = append(a.given.Types, s.Type)
		s.Nonce = "gc-" + strings.ToLower(rand.Text()[:10])
		s.Content += "\n\n[" + s.Nonce + "]"
		fresh = append(fresh, s)
	}
	return fresh, skipped
}

// compactedLocked begins a new epoch: every section is new again.
func (a *active) compactedLocked() { a.given = given{Epoch: a.given.Epoch + 1} }

// asPrompt gives context as a prompt.
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
		Key: "context " + c.Sections[0].Nonce,
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
	l := a.box.Find(id)
	if l == nil || l.Kind != worker.ContextMessage || !l.Ended() || a.verified[id] {
		a.mu.Unlock()
		return nil
	}
	if a.verified == nil {
		a.verified = map[string]bool{}
	}
	a.verified[id] = true
	var c worker.Context
	err := json.Unmarshal(l.Data, &c)
	seen := l.Nonces
	a.mu.Unlock()
	if err != nil {
		return err
	}
	c.Sections = slices.DeleteFunc(c.Sections, func(s worker.Section) bool { return slices.Contains(seen, s.Nonce) })
	if len(c.Sections) == 0 {
		return nil
	}
	_, err = e.asPrompt(ctx, a, c)
	return err
}
