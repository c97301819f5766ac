package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/internal/driver/script"
	"gascity/runtime"
)

// query asks the script about one session, now. A session whose name no driver accepts
// does not exist. The error says why nothing is known.
func (p *Provider) query(ctx context.Context, name string) (runtime.Observation, error) {
	now := time.Now()
	obs := runtime.Observation{Attached: -1, At: now}
	if runtime.ValidateName(name) != nil {
		obs.Session, obs.Agent = runtime.Dead, runtime.Dead
		return obs, nil //nolint:nilerr // what has no valid name does not exist
	}
	if p.caps.Has(script.CapObserve) {
		return p.queryInFull(ctx, name)
	}
	r, err := p.call(ctx, request{op: script.OpIsRunning, name: name, verb: "observe"})
	switch {
	case runtime.IsSessionGone(err):
		obs.Session, obs.Agent = runtime.Dead, runtime.Dead
		return obs, nil
	case err != nil:
		return obs, unknown(err)
	}
	switch word := trimmed(r.out); word {
	case "true":
		obs.Session, obs.Agent = runtime.Alive, runtime.Alive
	case "false":
		obs.Session, obs.Agent = runtime.Dead, runtime.Dead
	default:
		return obs, &runtime.Error{Op: "observe", Session: name, Err: fmt.Errorf("%w: script %s is-running: it prints %.40q, want true or false", runtime.ErrRuntimeUnavailable, p.cfg.Script, word)}
	}
	return obs, nil
}

func (p *Provider) queryInFull(ctx context.Context, name string) (runtime.Observation, error) {
	began := time.Now()
	nothing := runtime.Observation{Attached: -1, At: began}
	r, err := p.call(ctx, request{op: script.OpObserve, name: name})
	if runtime.IsSessionGone(err) {
		nothing.Session, nothing.Agent = runtime.Dead, runtime.Dead
		return nothing, nil
	}
	if err != nil {
		return nothing, unknown(err)
	}
	var doc script.Observation
	doc.Attached = -1
	if err := json.Unmarshal(r.out, &doc); err != nil {
		return nothing, &runtime.Error{Op: "observe", Session: name, Err: fmt.Errorf("%w: script %s observe: no observation is printed: %w", runtime.ErrRuntimeUnavailable, p.cfg.Script, err)}
	}
	return p.clock.adjust(doc.Seen(), began, time.Now()), nil
}

// unknown ensures that a failure to look is never read as evidence.
func unknown(err error) error {
	if errors.Is(err, runtime.ErrRuntimeUnavailable) || errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(runtime.ErrRuntimeUnavailable, err)
}

// Observe implements runtime.Observer. A session that is in a listing of
// the last moment is alive; of one that is not, the script is asked. Without the
// capability observe the agent is what the session is, and the token is the one that
// was given at the start.
func (p *Provider) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	if runtime.ValidateName(name) == nil {
		if obs, ok := p.listings.find(ctx, name); ok {
			return p.complete(ctx, name, obs), nil
		}
	}
	obs, err := p.query(ctx, name)
	if err != nil {
		return obs, err
	}
	return p.complete(ctx, name, obs), nil
}

// complete adds what the script was not asked for.
func (p *Provider) complete(ctx context.Context, name string, obs runtime.Observation) runtime.Observation {
	switch obs.Session {
	case runtime.Dead:
		p.tokens.remove(name)
		p.listings.remove(name)
		return obs
	case runtime.Alive:
		p.listings.add(name)
	case runtime.Unknown:
	}
	if !p.caps.Has(script.CapObserve) && obs.InstanceToken == "" {
		obs.InstanceToken, _ = p.token(ctx, name, false) // unknown is empty
	}
	return obs
}

// alive looks at the session as Observe does, without its token.
func (p *Provider) alive(ctx context.Context, name string) (runtime.Liveness, error) {
	if obs, ok := p.listings.find(ctx, name); ok {
		return running(obs), nil
	}
	obs, err := p.query(ctx, name)
	return running(obs), err
}

// running returns the contract's word for an observation.
func running(obs runtime.Observation) runtime.Liveness {
	if obs.Session == runtime.Alive {
		if obs.Agent == runtime.Dead {
			return runtime.Dead
		}
		return runtime.Alive
	}
	return obs.Session
}

// IsRunning keeps the contract of runtime.Inspector; what is unknown is false.
func (p *Provider) IsRunning(name string) bool {
	ctx, cancel := p.bounded()
	defer cancel()
	live, err := p.alive(ctx, name)
	return err == nil && live == runtime.Alive
}

// IsAttached keeps the contract of runtime.Inspector.
func (p *Provider) IsAttached(name string) bool {
	if !p.facts.CanReportAttachment || runtime.ValidateName(name) != nil {
		return false
	}
	ctx, cancel := p.bounded()
	defer cancel()
	r, err := p.call(ctx, request{op: script.OpIsAttached, name: name})
	return err == nil && trimmed(r.out) == "true"
}

// ProcessAlive keeps the contract of runtime.Inspector. A script without process-alive, or
// one that says nothing, reports only whether the session runs.
func (p *Provider) ProcessAlive(name string, processNames []string) bool {
	names := slices.DeleteFunc(slices.Clone(processNames), func(n string) bool { return n == "" || strings.ContainsAny(n, "\n\x00") })
	if len(names) == 0 {
		return len(processNames) == 0
	}
	if runtime.ValidateName(name) != nil {
		return false
	}
	ctx, cancel := p.bounded()
	defer cancel()
	r, err := p.call(ctx, request{op: script.OpProcessAlive, name: name, stdin: []byte(strings.Join(names, "\n") + "\n")})
	if isMissing(err) || err == nil && trimmed(r.out) == "" {
		live, err := p.alive(ctx, name)
		return err == nil && live == runtime.Alive
	}
	return err == nil && trimmed(r.out) == "true"
}

// GetLastActivity implements runtime.Inspector: what is no time is unknown.
func (p *Provider) GetLastActivity(name string) (time.Time, error) {
	if runtime.ValidateName(name) != nil {
		return time.Time{}, nil
	}
	ctx, cancel := p.bounded()
	defer cancel()
	r, err := p.call(ctx, request{op: script.OpGetLastActivity, name: name, verb: "read activity of"})
	if runtime.IsSessionGone(err) {
		return time.Time{}, nil
	}
	if err != nil || r.missing {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(bytes.TrimSpace(r.out)))
	if err != nil {
		return time.Time{}, nil // the wire: anything else is unknown
	}
	return at, nil
}

// ListRunning implements runtime.Inspector. For a script without
// list-running these are the sessions that this value has started or seen.
func (p *Provider) ListRunning(prefix string) ([]string, error) {
	ctx, cancel := p.bounded()
	defer cancel()
	names, err := p.list(ctx, prefix)
	if isMissing(err) {
		return p.queryRemembered(ctx, prefix)
	}
	return names, err
}

// list runs list-running.
func (p *Provider) list(ctx context.Context, prefix string) ([]string, error) {
	r, err := p.call(ctx, request{op: script.OpListRunning, name: prefix, verb: "list"})
	if err != nil {
		if !isMissing(err) {
			err = unknown(err)
		}
		return nil, err
	}
	names, odd := parseNames(r.out, prefix)
	switch {
	case odd == "":
		return names, nil
	case len(names) == 0:
		return nil, &runtime.Error{Op: "list", Err: fmt.Errorf("%w: script %s list-running: it prints %.60q, which is not a name", runtime.ErrRuntimeUnavailable, p.cfg.Script, odd)}
	default:
		return names, &runtime.PartialListError{Errs: []error{fmt.Errorf("script %s list-running: it prints %.60q, which is not a name", p.cfg.Script, odd)}}
	}
}

// parseNames reads a listing: the names with the prefix, sorted, and a line that
// cannot be a name of anything. Names that no session of gc can have belong to somebody
// else in the same place and are left out.
func parseNames(out []byte, prefix string) (names []string, odd string) {
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "":
		case strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd }):
			if strings.HasPrefix(line, prefix) || prefix == "" {
				odd = line
			}
		case strings.HasPrefix(line, prefix) && runtime.ValidateName(line) == nil:
			names = append(names, line)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), odd
}

// queryRemembered asks for each session that is known to this value.
func (p *Provider) queryRemembered(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	var errs []error
	for _, name := range p.listings.names() {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		obs, err := p.query(ctx, name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case running(obs) == runtime.Alive:
			names = append(names, name)
		}
	}
	if len(errs) > 0 {
		return names, &runtime.PartialListError{Errs: errs}
	}
	return names, nil
}
