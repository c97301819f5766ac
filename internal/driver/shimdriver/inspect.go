package shimdriver

import (
	"context"
	"errors"
	"time"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// IsRunning implements runtime.Inspector. It returns false if the state is unknown.
func (s *Sessions) IsRunning(name string) bool {
	if _, _, ok := s.recorded(name); ok {
		return true
	}
	ctx, cancel := driver.CallContext()
	defer cancel()
	_, err := s.Session(ctx, "look at", name)
	return err == nil
}

// recorded returns the record of a session and a client for it, if its agent certainly runs. It sends no request.
func (s *Sessions) recorded(name string) (shim.Record, *shim.Client, bool) {
	if runtime.ValidateName(name) != nil {
		return shim.Record{}, nil, false
	}
	return s.fleet.Recorded(name)
}

// GetLastActivity implements runtime.Inspector.
func (s *Sessions) GetLastActivity(name string) (time.Time, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	observed, err := s.inspect(ctx, "look at", name)
	switch {
	case err != nil:
		return time.Time{}, err
	case observed.Client != nil:
		return observed.State.LastOutput, nil
	case observed.ExitRecord != nil:
		return observed.ExitRecord.LastActivity, nil
	}
	return time.Time{}, nil
}

// ProcessAlive implements runtime.Inspector. It returns false if the state is unknown.
func (s *Sessions) ProcessAlive(name string, processNames []string) bool {
	if len(processNames) == 0 {
		return true
	}
	r, _, ok := s.recorded(name)
	if !ok {
		ctx, cancel := driver.CallContext()
		defer cancel()
		l, err := s.Session(ctx, "look at", name)
		if err != nil {
			return false
		}
		r = *l.observed.Record
	}
	if root, err := proc.Stat(r.Root.PID); err == nil && root.ID == r.Root && !root.Ended() {
		if fits, _ := proc.Named(root, processNames); fits { // an error is found again below
			return true
		}
	}
	fits, _ := proc.AnyNamedInTree(r.Shim.PID, processNames, r.Shim.PID) // an error counts as no match
	return fits
}

// Observe implements runtime.Observer. If the agent's process has exited but its shim has not recorded that yet, Observe waits
// for the record, for at most noteLimit.
func (s *Sessions) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	obs, exiting, err := s.observe(ctx, name)
	if err != nil || exiting == nil {
		return obs, err
	}
	if err := awaitExit(ctx, exiting, noteLimit); err != nil {
		return obs, &runtime.Error{Op: "observe", Session: name, Err: errors.Join(runtime.ErrRuntimeUnavailable, err)}
	}
	obs, _, err = s.observe(ctx, name)
	return obs, err
}

// noteLimit bounds the wait for the exit record of an agent whose process has exited. The shim needs a second at most, because
// it first reads the last output.
const noteLimit = 2 * time.Second

// observe returns one observation. exiting is the shim of an agent whose process has exited, but whose exit the shim has not
// recorded yet; else it is nil.
func (s *Sessions) observe(ctx context.Context, name string) (obs runtime.Observation, exiting *shim.Client, err error) {
	obs.At = time.Now()
	observed, err := s.inspect(ctx, "observe", name)
	if err != nil {
		return obs, nil, &runtime.Error{Op: "observe", Session: name, Err: errors.Join(runtime.ErrRuntimeUnavailable, err)}
	}
	obs.InstanceToken, obs.Handle = observed.Token, observed.Token
	if r := observed.Record; r != nil {
		obs.PID, obs.StartTime, obs.StartedAt = r.Root.PID, r.Root.Start, r.StartedAt
	}
	switch {
	case observed.Busy && observed.ExitRecord == nil:
		obs.Session, obs.Agent = runtime.Alive, runtime.Unknown
	case observed.Client != nil:
		exiting = s.observeLive(ctx, &obs, observed)
	case observed.IsLost():
		observeLost(&obs, observed)
	default:
		obs.Session, obs.Agent = runtime.Dead, runtime.Dead
		if c := observed.ExitRecord; c != nil {
			exit := exitOf(c.Exit)
			obs.Session, obs.Exit, obs.LastActivity, obs.Title = runtime.Alive, &exit, c.LastActivity, c.Title
			obs.Last = screen.Last(tail(c.Text, lastLines), s.rules(*observed.Record), exit.At)
		}
	}
	return obs, exiting, nil
}

// observeLive fills in the state of a session with a live shim. exiting is the shim if the agent's exit is not recorded yet; else
// nil.
func (s *Sessions) observeLive(ctx context.Context, obs *runtime.Observation, observed shim.Observation) (exiting *shim.Client) {
	state := observed.State
	obs.Session, obs.Attached, obs.LastActivity, obs.LastInput, obs.Title = runtime.Alive, state.Attached, state.LastOutput, state.LastHuman, state.Title
	if state.Exit != nil {
		exit := exitOf(*state.Exit)
		obs.Agent, obs.Exit = runtime.Dead, &exit
		if text, err := observed.Client.Text(ctx, lastLines); err == nil { // on an error the next observation reads it from disk
			obs.Last = screen.Last(text, s.rules(*observed.Record), exit.At)
		}
		return nil
	}
	s.identified(ctx, &observed)
	obs.PID, obs.StartTime = state.Agent.PID, state.Agent.Start
	obs.Agent = agentLife(observed)
	// A shell around the agent may still run after the agent has exited, and may be the only listed process.
	if live, err := proc.Alive(observed.Record.Root); obs.Agent == runtime.Dead && (err != nil || !live) {
		obs.Agent = runtime.Unknown
		return observed.Client
	}
	return nil
}

// observeLost fills in the state of a session whose shim was killed. The session is dead. Its agent counts as alive while any
// process has the session's instance token.
func observeLost(obs *runtime.Observation, observed shim.Observation) {
	obs.Session, obs.Agent = runtime.Dead, runtime.Dead
	pids, err := observed.Orphans()
	switch {
	case len(pids) > 0:
		obs.Agent = runtime.Alive
	case err != nil:
		obs.Agent = runtime.Unknown
	}
}
