package exec

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"gascity/internal/driver/script"
	"gascity/runtime"
)

// tokens remembers the instance tokens of sessions that are there. The zero value is
// useful.
type tokens struct {
	mu        sync.Mutex
	bySession map[string]string
}

func (t *tokens) get(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bySession[name]
}

func (t *tokens) set(name, token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bySession == nil {
		t.bySession = map[string]string{}
	}
	t.bySession[name] = token
}

func (t *tokens) remove(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bySession, name)
}

func newToken() string {
	token := make([]byte, 16)
	rand.Read(token) // never fails, see crypto/rand
	return hex.EncodeToString(token)
}

// token returns the session's instance token, read now if fresh is wanted. An empty
// one is not known.
func (p *Provider) token(ctx context.Context, name string, fresh bool) (string, error) {
	if held := p.tokens.get(name); held != "" && !fresh {
		return held, nil
	}
	token, err := p.getMeta(ctx, name, metaToken)
	if err == nil && token != "" {
		p.tokens.set(name, token)
	}
	return token, err
}

// identify returns nil if token names the session's instance: looked up now, as
// near to the act as a script without fences allows.
func (p *Provider) identify(ctx context.Context, name, token string) error {
	fail := func(err error) error { return &runtime.Error{Op: "identify", Session: name, Err: err} }
	obs, err := p.query(ctx, name)
	if err != nil {
		return err
	}
	if obs.Session == runtime.Dead {
		return fail(runtime.ErrSessionNotFound)
	}
	current := obs.InstanceToken
	if current == "" {
		if current, err = p.token(ctx, name, true); err != nil {
			return err
		}
	}
	switch current {
	case "":
		return fail(fmt.Errorf("its instance is unknown: %w", errors.ErrUnsupported))
	case token:
		return nil
	}
	return fail(runtime.ErrStaleInstance)
}

// StopInstance implements runtime.Fencer; in one step only if the script
// declares fence.
func (p *Provider) StopInstance(ctx context.Context, name, token string) error {
	if runtime.ValidateName(name) != nil {
		return nil
	}
	if p.caps.Has(script.CapFence) {
		_, err := p.call(ctx, request{op: script.OpStopInstance, name: name, stdin: []byte(token + "\n"), verb: "stop"})
		if err == nil || runtime.IsSessionGone(err) {
			return p.forgetSession(name)
		}
		p.listings.invalidate()
		return err
	}
	release, err := p.starts.acquire(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	switch err := p.identify(ctx, name, token); {
	case runtime.IsSessionGone(err):
		return nil
	case err != nil:
		return err
	}
	return p.stop(ctx, name)
}

// InterruptInstance implements runtime.Fencer, like StopInstance.
func (p *Provider) InterruptInstance(ctx context.Context, name, token string) error {
	if runtime.ValidateName(name) != nil {
		return &runtime.Error{Op: "interrupt", Session: name, Err: runtime.ErrSessionNotFound}
	}
	if p.caps.Has(script.CapFence) {
		_, err := p.call(ctx, request{op: script.OpInterruptInstance, name: name, stdin: []byte(token + "\n"), verb: "interrupt"})
		return err
	}
	if err := p.identify(ctx, name, token); err != nil {
		return err
	}
	return p.interrupt(ctx, name)
}
