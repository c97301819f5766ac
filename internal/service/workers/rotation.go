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

	"gascity/internal/domain/session"
	"gascity/worker"
)

// RotationGrace is how long a token stays valid after its worker has acknowledged the next one, for
// requests that are already sent.
const RotationGrace = 30 * time.Second

const tokenPrefix = "token-"

// Rotate sends a new token to the worker of a session by its stream. The old token is valid until
// [RotationGrace] after the worker has acknowledged the new one. Programs that have only the old
// token in their environment lose access then. Rotate returns worker.ErrRefused if the worker is
// not connected or does not apply identities, because it could not get the new token.
func (e *Engine) Rotate(name string) error {
	a := e.runOf(name)
	if a == nil {
		return fmt.Errorf("%w: no run of session %s is known", worker.ErrNotFound, name)
	}
	if !a.offers(worker.OfferIdentity) {
		return fmt.Errorf("%w: the worker of %s is not connected, or accepts no new tokens", worker.ErrRefused, name)
	}
	v, err := e.opts.City.Snapshot(name)
	if err != nil {
		return workerError(err)
	}
	a.mu.Lock()
	a.generation++
	a.mu.Unlock()
	if err := a.saveMemoryTo(v.Provider); err != nil { // a later controller must know it before the worker does
		return fmt.Errorf("%w: cannot save the number of the new token: %w", worker.ErrUnavailable, err)
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

// pushTokenLocked sends the worker its newest token, if the worker has not acknowledged it.
func (a *liveRun) pushTokenLocked() error {
	if a.generation == a.ackedGeneration || !a.life.HasOffer(worker.OfferIdentity) {
		return nil
	}
	id := worker.Identity{RunID: a.id, SessionID: a.session, Token: worker.Secret(session.WorkerToken(a.instance, a.generation))}
	_, err := a.putLocked(worker.IdentityMessage, tokenPrefix+strconv.Itoa(a.generation), id)
	return mailboxError(err)
}

// recordTokenAck records that the worker has acknowledged a new token. The older tokens expire
// after [RotationGrace].
func (e *Engine) recordTokenAck(a *liveRun, ack worker.Ack) {
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
		token := session.HashToken(session.WorkerToken(a.instance, g))
		if of, ok := e.tokens[token]; ok && of.until.IsZero() {
			e.tokens[token] = tokenGrant{of.run, e.opts.Now().Add(RotationGrace)}
		}
	}
	e.mu.Unlock()
	if now > was {
		e.saveMemory(a)
	}
}

// RotateEvery rotates the tokens of all runs at the interval age until ctx ends. It returns at once
// if age is zero or negative.
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
				e.opts.Logger.Warn("cannot rotate the token of a worker", "session", name, "error", err)
			}
		}
	}
}
