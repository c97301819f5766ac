package fake

import (
	"context"
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// screenLines is the height of a simulated agent's screen.
const screenLines = 50

// IsRunning implements runtime.Inspector.
func (f *Provider) IsRunning(name string) bool {
	f.recordCall("IsRunning", name)
	running := false
	f.world.with(name, func(s *session) { running = s.aliveLocked() })
	return running
}

// IsAttached implements runtime.Inspector.
func (f *Provider) IsAttached(name string) bool {
	f.recordCall("IsAttached", name)
	attached := false
	f.world.with(name, func(s *session) { attached = s.attached > 0 })
	return attached
}

// ProcessAlive implements runtime.Inspector. A simulated agent has one process name.
func (f *Provider) ProcessAlive(name string, processNames []string) bool {
	f.recordCall("ProcessAlive", name, processNames)
	if len(processNames) == 0 {
		return true
	}
	alive := false
	f.world.with(name, func(s *session) {
		process := processName
		if rename := s.agent.program.Behaviour.Rename; rename != "" {
			process = rename
		}
		alive = s.aliveLocked() && slices.Contains(processNames, process)
	})
	return alive
}

// ListRunning implements runtime.Inspector.
func (f *Provider) ListRunning(prefix string) ([]string, error) {
	if err := f.called("ListRunning", "", prefix); err != nil {
		return nil, err
	}
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	return f.world.runningLocked(prefix), nil
}

// GetLastActivity implements runtime.Inspector.
func (f *Provider) GetLastActivity(name string) (time.Time, error) {
	if err := f.called("GetLastActivity", name); err != nil {
		return time.Time{}, err
	}
	var at time.Time
	f.world.with(name, func(s *session) { at = s.active })
	return at, nil
}

// Peek implements runtime.Output. It returns the output of the simulated agent and the rows that it
// redraws.
func (f *Provider) Peek(name string, lines int) (string, error) {
	if err := f.called("Peek", name, lines); err != nil {
		return "", err
	}
	var all []string
	found := f.world.with(name, func(s *session) { all = append(slices.Clone(s.output), s.agent.screenLocked()...) })
	if !found {
		return "", notFound("peek at", name)
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if lines > 0 {
		all = all[max(0, len(all)-lines):]
	}
	return strings.Join(all, "\n"), nil
}

// ClearScrollback implements runtime.Output. It keeps one screen.
func (f *Provider) ClearScrollback(name string) error {
	if err := f.called("ClearScrollback", name); err != nil {
		return err
	}
	f.world.with(name, func(s *session) { s.output = slices.Clone(s.output[max(0, len(s.output)-screenLines):]) })
	return nil
}

// Print makes the session's agent print text. It reports whether there is an agent.
func (f *Provider) Print(name, text string) bool {
	return f.world.with(name, func(s *session) { s.printLocked(text) })
}

// Exit makes the session's agent exit and leaves the session without a running agent. It reports
// whether the session existed.
func (f *Provider) Exit(name string, exit runtime.Exit) bool {
	return f.world.with(name, func(s *session) { s.killLocked(s.agent.pid, exit) })
}

// Observe implements runtime.Observer.
func (f *Provider) Observe(_ context.Context, name string) (runtime.Observation, error) {
	obs := runtime.Observation{At: time.Now()}
	if err := f.called("Observe", name); err != nil {
		return obs, err
	}
	obs.Session, obs.Agent = runtime.Dead, runtime.Dead
	f.world.with(name, func(s *session) {
		obs.Session, obs.InstanceToken, obs.Handle = runtime.Alive, s.token, s.token
		obs.StartedAt, obs.Attached, obs.LastActivity = s.startedAt, s.attached, s.active
		obs.LastInput = s.typed
		if s.aliveLocked() {
			obs.Agent, obs.PID = runtime.Alive, s.agent.pid
			return
		}
		exit := *s.exit
		obs.Exit = &exit
	})
	return obs, nil
}

// Recover implements runtime.Recoverer. The handle is the instance token.
func (f *Provider) Recover(_ context.Context, name, handle string) error {
	if err := f.called("Recover", name, handle); err != nil {
		return err
	}
	return f.withInstance(name, handle, func(*session) {})
}
