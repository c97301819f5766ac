package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/internal/domain/workerrun"
	"gascity/worker"
)

// RotationGrace is how long a token is good for after its worker has acknowledged the
// one that takes its place: requests with it are on their way.
const RotationGrace = 30 * time.Second

const tokenPrefix = "token-"

// Rotate gives the worker of a session a new token, by its stream. The old one is
// good until the worker has acknowledged the new one, and [RotationGrace] longer. A
// worker that is not connected, or applies no identities, is worker.ErrRefused: it
// would be shut out. Programs that have the old token in their environment are.
func (e *Engine) Rotate(name string) error {
	a := e.of(name)
	if a == nil {
		return fmt.Errorf("%w: no run of session %s is known", worker.ErrNotFound, name)
	}
	if !a.offers(worker.OfferIdentity) {
		return fmt.Errorf("%w: the worker of %s is not connected, or takes no new tokens", worker.ErrRefused, name)
	}
	v, err := e.opts.City.Snapshot(name)
	if err != nil {
		return inWords(err)
	}
	a.mu.Lock()
	a.generation++
	a.mu.Unlock()
	if err := a.remember(v.Provider); err != nil { // a later controller must know it before the worker does
		return fmt.Errorf("%w: the new token's number cannot be kept: %w", worker.ErrUnavailable, err)
	}
	e.mu.Lock()
	if e.byID[a.id] == a {
		e.registerLocked(a)
	}
	e.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pushTokenLocked()
}

// pushTokenLocked sends the worker its newest token, if it does not have it.
func (a *liveRun) pushTokenLocked() error {
	if a.generation == a.ackedGeneration || !a.life.HasOffer(worker.OfferIdentity) {
		return nil
	}
	id := worker.Identity{RunID: a.id, SessionID: a.session, Token: worker.Secret(workerrun.Token(a.instance, a.generation))}
	_, err := a.putLocked(worker.IdentityMessage, tokenPrefix+strconv.Itoa(a.generation), id)
	return full(err)
}

// rotated records that the worker has acknowledged a token; those before it die.
func (e *Engine) rotated(a *liveRun, ack worker.Ack) {
	number, ours := strings.CutPrefix(ack.ID, tokenPrefix)
	generation, err := strconv.Atoi(number)
	if !ours || err != nil || ack.State == worker.Refused || ack.State == worker.Failed {
		return
	}
	a.mu.Lock()
	was := a.ackedGeneration
	if generation > was && generation <= a.generation {
		a.ackedGeneration = generation
	}
	now := a.ackedGeneration
	a.mu.Unlock()
	e.mu.Lock()
	for g := was; g < now; g++ {
		token := workerrun.HashToken(workerrun.Token(a.instance, g))
		if of, ok := e.tokens[token]; ok && of.until.IsZero() {
			e.tokens[token] = tokenGrant{of.run, e.opts.Now().Add(RotationGrace)}
		}
	}
	e.mu.Unlock()
	if now > was {
		e.saveMemory(a)
	}
}

// RotateEvery gives the workers of all runs new tokens, again and again, until ctx
// ends. Zero is never.
func (e *Engine) RotateEvery(ctx context.Context, age time.Duration) error {
	if age <= 0 {
		return nil
	}
	tick := time.NewTicker(age)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		e.mu.Lock()
		names := slices.Collect(maps.Keys(e.runs))
		e.mu.Unlock()
		for _, name := range names {
			if err := e.Rotate(name); err != nil && !errors.Is(err, worker.ErrRefused) && !errors.Is(err, worker.ErrNotFound) {
				e.opts.Logger.Warn("a worker keeps its token", "session", name, "error", err)
			}
		}
	}
}
