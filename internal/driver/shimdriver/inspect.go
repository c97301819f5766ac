package shimdriver

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// IsRunning keeps the contract of runtime.Inspector.
func (s *Sessions) IsRunning(name string) bool {
	ctx, cancel := bounded()
	defer cancel()
	_, err := s.live(ctx, "look at", name)
	return err == nil
}

// IsAttached keeps the contract of runtime.Inspector.
func (s *Sessions) IsAttached(name string) bool {
	ctx, cancel := bounded()
	defer cancel()
	sight, err := s.live(ctx, "look at", name)
	return err == nil && sight.State.Attached > 0
}

// GetLastActivity implements runtime.Inspector.
func (s *Sessions) GetLastActivity(name string) (time.Time, error) {
	ctx, cancel := bounded()
	defer cancel()
	sight, err := s.inspect(ctx, "look at", name)
	switch {
	case err != nil:
		return time.Time{}, err
	case sight.Client != nil:
		return sight.State.LastOutput, nil
	case sight.ExitRecord != nil:
		return sight.ExitRecord.LastActivity, nil
	}
	return time.Time{}, nil
}

// ListRunning implements runtime.Inspector.
func (s *Sessions) ListRunning(prefix string) ([]string, error) {
	ctx, cancel := bounded()
	defer cancel()
	all, err := s.fleet.Names(ctx)
	names := make([]string, 0, len(all))
	for _, name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	switch {
	case err == nil:
		return names, nil
	case len(all) > 0:
		return names, &runtime.PartialListError{Errs: []error{err}}
	default:
		return nil, &runtime.Error{Op: "list", Err: errors.Join(runtime.ErrRuntimeUnavailable, err)}
	}
}

// ProcessAlive keeps the contract of runtime.Inspector.
func (s *Sessions) ProcessAlive(name string, processNames []string) bool {
	if len(processNames) == 0 {
		return true
	}
	ctx, cancel := bounded()
	defer cancel()
	sight, err := s.live(ctx, "look at", name)
	if err != nil {
		return false
	}
	tree, err := agentTree(sight)
	if err != nil {
		return false
	}
	fits, _ := proc.AnyNamed(tree, processNames) // what cannot be known is no
	return fits
}

// agentTree returns the live processes of a session, parents first. The shim is
// their ancestor, also of those that left their parents.
func agentTree(sight shim.Observation) ([]proc.Info, error) {
	tree, err := proc.Tree(sight.Record.Shim.PID)
	return proc.Live(tree, sight.Record.Shim.PID), err
}

// Observe implements runtime.Observer. An agent whose end is being drawn up is
// dead once that is known; until then nothing is known of it.
func (s *Sessions) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	obs, noting, err := s.observe(ctx, name)
	if err != nil || noting == nil {
		return obs, err
	}
	if err := awaitExit(ctx, noting, noteLimit); err != nil {
		return obs, &runtime.Error{Op: "observe", Session: name, Err: errors.Join(runtime.ErrRuntimeUnavailable, err)}
	}
	obs, _, err = s.observe(ctx, name)
	return obs, err
}

// noteLimit bounds the wait for the end of an agent whose process has ended. Its last words
// are waited for by the shim, which takes a second at most.
const noteLimit = 2 * time.Second

// observe returns one look. noting is the shim of an agent that has ended, which has not drawn
// up its end yet.
func (s *Sessions) observe(ctx context.Context, name string) (obs runtime.Observation, noting *shim.Client, err error) {
	obs.At = time.Now()
	sight, err := s.inspect(ctx, "observe", name)
	if err != nil {
		return obs, nil, &runtime.Error{Op: "observe", Session: name, Err: errors.Join(runtime.ErrRuntimeUnavailable, err)}
	}
	obs.InstanceToken, obs.Handle = sight.Token, sight.Token
	if r := sight.Record; r != nil {
		obs.PID, obs.StartTime, obs.StartedAt = r.Root.PID, r.Root.Start, r.StartedAt
	}
	switch {
	case sight.Busy:
		obs.Session, obs.Agent = runtime.Alive, runtime.Unknown
	case sight.Client != nil:
		noting = s.observeLive(ctx, &obs, sight)
	case sight.IsLost():
		observeLost(&obs, sight)
	default:
		obs.Session, obs.Agent = runtime.Dead, runtime.Dead
		if c := sight.ExitRecord; c != nil {
			exit := exitOf(c.Exit)
			obs.Session, obs.Exit, obs.LastActivity, obs.Title = runtime.Alive, &exit, c.LastActivity, c.Title
			obs.Last = screen.Last(tail(c.Text, lastLines), s.rules(*sight.Record), exit.At)
		}
	}
	return obs, noting, nil
}

func (s *Sessions) observeLive(ctx context.Context, obs *runtime.Observation, sight shim.Observation) (noting *shim.Client) {
	state := sight.State
	obs.Session, obs.Attached, obs.LastActivity, obs.LastInput, obs.Title = runtime.Alive, state.Attached, state.LastOutput, state.LastHuman, state.Title
	if state.Exit != nil {
		exit := exitOf(*state.Exit)
		obs.Agent, obs.Exit = runtime.Dead, &exit
		if text, err := sight.Client.Text(ctx, lastLines); err == nil { // else the next look finds it on the disk
			obs.Last = screen.Last(text, s.rules(*sight.Record), exit.At)
		}
		return nil
	}
	s.identified(ctx, &sight)
	obs.PID, obs.StartTime = state.Agent.PID, state.Agent.Start
	obs.Agent = agentLife(sight)
	// A shell may live on around an agent that has ended, and be the only process that
	// is listed.
	if live, err := proc.Alive(sight.Record.Root); obs.Agent == runtime.Dead && (err != nil || !live) {
		obs.Agent = runtime.Unknown
		return sight.Client
	}
	return nil
}

// observeLost looks at a session whose shim was killed. The session is dead; its
// agent is alive as long as any process carries its token.
func observeLost(obs *runtime.Observation, sight shim.Observation) {
	obs.Session, obs.Agent = runtime.Dead, runtime.Dead
	pids, err := sight.Orphans()
	switch {
	case len(pids) > 0:
		obs.Agent = runtime.Alive
	case err != nil:
		obs.Agent = runtime.Unknown
	}
}
