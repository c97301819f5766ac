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

// query calls the script to observe one session, with the operation observe if the script declares
// it. A session with an invalid name does not exist. If the error is not nil, the state is unknown.
func (p *Provider) query(ctx context.Context, name string) (runtime.Observation, error) {
	began := time.Now()
	obs := runtime.Observation{Attached: -1, At: began}
	dead := obs
	dead.Session, dead.Agent = runtime.Dead, runtime.Dead
	if runtime.ValidateName(name) != nil {
		return dead, nil //nolint:nilerr // a session with an invalid name does not exist
	}
	op := script.OpIsRunning
	if p.caps.Has(script.CapObserve) {
		op = script.OpObserve
	}
	r, err := p.call(ctx, request{op: op, name: name, verb: "observe"})
	switch {
	case runtime.IsSessionGone(err):
		return dead, nil
	case err != nil:
		return obs, unknown(err)
	}
	if op == script.OpObserve {
		doc := script.Observation{Observation: runtime.Observation{Attached: -1}}
		if err := json.Unmarshal(r.out, &doc); err != nil {
			return obs, &runtime.Error{Op: "observe", Session: name, Err: fmt.Errorf("%w: script %s observe: it does not print an observation: %w", runtime.ErrRuntimeUnavailable, p.cfg.Script, err)}
		}
		return p.clock.adjust(doc.Seen(), began, time.Now()), nil
	}
	switch word := trimmed(r.out); word {
	case "true":
		obs.Session, obs.Agent = runtime.Alive, runtime.Alive
		return obs, nil
	case "false":
		return dead, nil
	default:
		return obs, &runtime.Error{Op: "observe", Session: name, Err: fmt.Errorf("%w: script %s is-running: it prints %.40q, want true or false", runtime.ErrRuntimeUnavailable, p.cfg.Script, word)}
	}
}

// unknown returns err as an error that matches runtime.ErrRuntimeUnavailable, so that a failed
// observation never counts as a result.
func unknown(err error) error {
	if errors.Is(err, runtime.ErrRuntimeUnavailable) || errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(runtime.ErrRuntimeUnavailable, err)
}

// Observe implements runtime.Observer. A session in a fresh listing is alive. For any other session
// the script is called. Without the capability observe, the agent has the state of the session, and
// the instance token is the one of the start.
func (p *Provider) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	obs, err := p.find(ctx, name)
	if err != nil {
		return obs, err
	}
	switch obs.Session {
	case runtime.Dead:
		p.tokens.remove(name)
		p.known.remove(name)
		return obs, nil
	case runtime.Alive:
		p.known.set(name, struct{}{})
	case runtime.Unknown:
	}
	if !p.caps.Has(script.CapObserve) {
		obs.InstanceToken, _ = p.token(ctx, name, false) // it stays empty if it cannot be read
	}
	return obs, nil
}

// find returns the observation of a session in a fresh listing, or else calls the script.
func (p *Provider) find(ctx context.Context, name string) (runtime.Observation, error) {
	if obs, ok := p.listings.find(ctx, name); ok {
		return obs, nil
	}
	return p.query(ctx, name)
}

// isAlive reports whether the session runs. It returns false if the state is unknown.
func (p *Provider) isAlive(ctx context.Context, name string) bool {
	obs, err := p.find(ctx, name)
	return err == nil && running(obs) == runtime.Alive
}

// running returns whether the agent of an observation runs.
func running(obs runtime.Observation) runtime.Liveness {
	if obs.Session == runtime.Alive {
		if obs.Agent == runtime.Dead {
			return runtime.Dead
		}
		return runtime.Alive
	}
	return obs.Session
}

// IsRunning implements runtime.Inspector. It returns false if the state is unknown.
func (p *Provider) IsRunning(name string) bool {
	ctx, cancel := p.bounded()
	defer cancel()
	return p.isAlive(ctx, name)
}

// IsAttached implements runtime.Inspector.
func (p *Provider) IsAttached(name string) bool {
	if !p.facts.CanReportAttachment || runtime.ValidateName(name) != nil {
		return false
	}
	ctx, cancel := p.bounded()
	defer cancel()
	r, err := p.call(ctx, request{op: script.OpIsAttached, name: name})
	return err == nil && trimmed(r.out) == "true"
}

// ProcessAlive implements runtime.Inspector. If the script does not have the operation, or prints
// nothing, ProcessAlive reports whether the session runs.
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
		return p.isAlive(ctx, name)
	}
	return err == nil && trimmed(r.out) == "true"
}

// GetLastActivity implements runtime.Inspector. It returns the zero time, for unknown, if the
// script does not print a time.
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
		return time.Time{}, nil // the wire format defines any other output as unknown
	}
	return at, nil
}

// ListRunning implements runtime.Inspector. If the script does not have the operation, it returns
// the sessions that this Provider has started or observed and that still run.
func (p *Provider) ListRunning(prefix string) ([]string, error) {
	ctx, cancel := p.bounded()
	defer cancel()
	names, err := p.list(ctx, prefix)
	if isMissing(err) {
		return p.queryRemembered(ctx, prefix)
	}
	return names, err
}

// list calls the operation list-running.
func (p *Provider) list(ctx context.Context, prefix string) ([]string, error) {
	r, err := p.call(ctx, request{op: script.OpListRunning, name: prefix, verb: "list"})
	if err != nil {
		if !isMissing(err) {
			err = unknown(err)
		}
		return nil, err
	}
	names, invalid := parseNames(r.out, prefix)
	switch {
	case invalid == "":
		return names, nil
	case len(names) == 0:
		return nil, &runtime.Error{Op: "list", Err: fmt.Errorf("%w: script %s list-running: it prints %.60q, which is not a name", runtime.ErrRuntimeUnavailable, p.cfg.Script, invalid)}
	default:
		return names, &runtime.PartialListError{Errs: []error{fmt.Errorf("script %s list-running: it prints %.60q, which is not a name", p.cfg.Script, invalid)}}
	}
}

// parseNames returns the names in a listing that begin with prefix, sorted. invalid is a line that
// cannot be a name, or "". A name that no session of gc can have belongs to another program and is
// ignored.
func parseNames(out []byte, prefix string) (names []string, invalid string) {
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "":
		case strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd }):
			if strings.HasPrefix(line, prefix) || prefix == "" {
				invalid = line
			}
		case strings.HasPrefix(line, prefix) && runtime.ValidateName(line) == nil:
			names = append(names, line)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), invalid
}

// queryRemembered observes each recorded session whose name begins with prefix, and returns the
// running ones.
func (p *Provider) queryRemembered(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	var errs []error
	for _, name := range p.known.names() {
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
