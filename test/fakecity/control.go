package fakecity

import (
	"context"
	"fmt"

	"gascity/client"
)

// Kill implements controlapi.City: the instance ends and the next one runs.
func (c *City) Kill(_ context.Context, target string, req client.LifecycleRequest) (client.StopResult, error) {
	s, err := c.fenced(target, req.Instance)
	if err != nil {
		return client.StopResult{}, err
	}
	c.Set(target, func(s *client.Session) { s.Restarts++ })
	return client.StopResult{Session: s.Session, Agent: s.Name, Processes: 1, Seconds: 0.1}, nil
}

// Reload implements controlapi.City.
func (c *City) Reload(context.Context) (client.Done, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != "" {
		return client.Done{}, fmt.Errorf("%w: %s", client.ErrInvalid, c.fault)
	}
	return client.Done{Changed: true}, nil
}

// Apply implements controlapi.City: no change waits.
func (c *City) Apply(_ context.Context, req client.ApplyRequest) (client.Done, error) {
	for _, target := range req.Targets {
		if _, err := c.fenced(target, ""); err != nil {
			return client.Done{}, err
		}
	}
	return client.Done{Detail: "no change waits"}, nil
}

// Restart implements controlapi.City.
func (c *City) Restart(_ context.Context, req client.RestartRequest) (client.Done, error) {
	targets := req.Targets
	for _, target := range targets {
		if _, err := c.fenced(target, req.Instance); err != nil {
			return client.Done{}, err
		}
	}
	if len(targets) == 0 {
		targets = c.names()
	}
	for _, target := range targets {
		c.Set(target, func(s *client.Session) { s.State, s.Restarts = client.StateStarting, s.Restarts+1 })
		c.Set(target, func(s *client.Session) { s.State = client.StateRunning })
	}
	return client.Done{Changed: len(targets) > 0}, nil
}

func (c *City) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, s := range c.agents {
		names = append(names, s.Name)
	}
	return names
}

// StopCity implements controlapi.City. An agent called "immortal" survives, and the
// city with it.
func (c *City) StopCity(context.Context) (client.Census, error) {
	census := client.Census{Sessions: []client.StopResult{}, Clean: true}
	for _, name := range c.names() {
		c.Set(name, func(s *client.Session) { s.State = client.StateStopping })
		s, err := c.find(name)
		if err != nil {
			return census, err
		}
		result := client.StopResult{Session: s.Session, Agent: name, Processes: 2, Seconds: 0.2}
		if name == "immortal" {
			census.Clean = false
			result.Survivors = []int{s.PID}
			result.Error = "a process does not end"
		} else {
			c.Set(name, func(s *client.Session) { s.State, s.PID = client.StateStopped, 0 })
		}
		census.Sessions = append(census.Sessions, result)
	}
	if census.Clean {
		c.exit()
	}
	return census, nil
}

// StopController implements controlapi.City.
func (c *City) StopController(context.Context) (client.Done, error) {
	c.exit()
	return client.Done{Changed: true}, nil
}

func (c *City) exit() {
	if c.Exit != nil {
		c.once.Do(c.Exit)
	}
}

// Events implements controlapi.City.
func (c *City) Events(ctx context.Context, after uint64) ([]client.Event, bool, <-chan client.Event, error) { //nolint:revive // the interface has four results
	past, gap, next := c.log.Read(ctx, after)
	return past, gap, next, nil
}
