package fakecity

import (
	"context"
	"fmt"
	"time"

	"gascity/client"
)

// checkInstance carries out a verb if the instance is the one that is meant.
func (c *City) checkInstance(target string, req client.LifecycleRequest, detail string, change func(*client.Session) error) (client.Done, error) {
	s, err := c.fenced(target, req.Instance)
	if err != nil {
		return client.Done{}, err
	}
	before := s.State
	if err := change(&s); err != nil {
		return client.Done{}, err
	}
	s.Reason = req.Reason
	c.Set(target, func(it *client.Session) { *it = s })
	return client.Done{Session: s.Session, Changed: s.State != before || detail != "", Detail: detail}, nil
}

// fenced finds a session and refuses another instance than the present one.
func (c *City) fenced(target, instance string) (client.Session, error) {
	s, err := c.find(target)
	if err == nil && instance != "" && instance != s.Instance {
		return s, fmt.Errorf("%w: %s runs as %s now, not as %s", client.ErrRefused, s.Name, s.Instance, instance)
	}
	return s, err
}

func start(s *client.Session) {
	s.State, s.Desired, s.StartedAt, s.Exit, s.PID = client.StateRunning, client.StateRunning, time.Now(), "", 4000
}

// Wake implements controlapi.City.
func (c *City) Wake(_ context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	return c.checkInstance(target, req, "", func(s *client.Session) error {
		switch s.State {
		case client.StateQuarantined:
			return fmt.Errorf("%w: %s is quarantined; first: gc session reset %s", client.ErrRefused, s.Name, s.Name)
		case client.StateSuspended:
			return fmt.Errorf("%w: %s is suspended; first: gc session resume %s", client.ErrRefused, s.Name, s.Name)
		}
		start(s)
		return nil
	})
}

// Sleep implements controlapi.City.
func (c *City) Sleep(_ context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	return c.checkInstance(target, req, "", func(s *client.Session) error {
		s.State, s.PID = client.StateAsleep, 0
		return nil
	})
}

// Suspend implements controlapi.City.
func (c *City) Suspend(_ context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	return c.checkInstance(target, req, "", func(s *client.Session) error {
		s.State, s.Desired, s.PID = client.StateSuspended, client.StateSuspended, 0
		return nil
	})
}

// Resume implements controlapi.City.
func (c *City) Resume(_ context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	return c.checkInstance(target, req, "", func(s *client.Session) error {
		if s.State == client.StateSuspended {
			start(s)
		}
		return nil
	})
}

// Reset implements controlapi.City.
func (c *City) Reset(_ context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	return c.checkInstance(target, req, "", func(s *client.Session) error {
		if s.State == client.StateQuarantined || s.State == client.StateFailed {
			start(s)
		}
		return nil
	})
}

// defaultDrain is the drain_timeout of every agent.
const defaultDrain = time.Minute

// Drain implements controlapi.City: the agent has to acknowledge, nothing else ends it.
func (c *City) Drain(_ context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	return c.checkInstance(target, req, "", func(s *client.Session) error {
		if s.State != client.StateRunning {
			return fmt.Errorf("%w: %s is %s", client.ErrRefused, s.Name, s.State)
		}
		if req.Timeout == 0 {
			req.Timeout = defaultDrain
		}
		s.State = client.StateDraining
		c.mu.Lock()
		defer c.mu.Unlock()
		c.drains[s.Session] = client.Drain{Draining: true, Reason: req.Reason, Since: time.Now(), Deadline: time.Now().Add(req.Timeout)}
		return nil
	})
}

// DrainState implements controlapi.City.
func (c *City) DrainState(_ context.Context, target string) (client.Drain, error) {
	s, err := c.find(target)
	if err != nil {
		return client.Drain{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drains[s.Session], nil
}

// DrainAck implements controlapi.City.
func (c *City) DrainAck(_ context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	return c.checkInstance(target, req, "", func(s *client.Session) error {
		if s.State != client.StateDraining {
			return fmt.Errorf("%w: %s is %s, it was not asked to wind down", client.ErrRefused, s.Name, s.State)
		}
		s.State, s.PID = client.StateStopped, 0
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.drains, s.Session)
		return nil
	})
}

// RequestRestart implements controlapi.City: the turn ends at once.
func (c *City) RequestRestart(_ context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	return c.checkInstance(target, req, "at the end of the turn", func(s *client.Session) error {
		s.Epoch++
		s.Restarts++
		return nil
	})
}
