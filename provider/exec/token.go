package exec

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/driver/script"
	"gascity/internal/proc"
	"gascity/runtime"
)

// token returns the session's instance token, or "" if it is unknown. If fresh is true, it reads
// the token from the script.
func (p *Provider) token(ctx context.Context, name string, fresh bool) (string, error) {
	if stored, _ := p.tokens.get(name); stored != "" && !fresh {
		return stored, nil
	}
	token, err := p.getMeta(ctx, name, proc.TokenKey)
	if err == nil && token != "" {
		p.tokens.set(name, token)
	}
	return token, err
}

// identify returns nil if token is the session's current instance token. It reads the token
// immediately before the operation. A script without the capability fence offers nothing better.
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
		return fail(fmt.Errorf("cannot find out which instance of the session runs: %w", errors.ErrUnsupported))
	case token:
		return nil
	}
	return fail(runtime.ErrStaleInstance)
}

// StopInstance implements runtime.Fencer. Check and stop are one step only if the script declares
// fence.
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

// InterruptInstance implements runtime.Fencer. Check and interrupt are one step only if the script
// declares fence.
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
