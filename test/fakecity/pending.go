package fakecity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/client"
)

// raiseLocked asks a person for an agent that has begun to wait, and ends the
// question of one that goes on. It reports whether anything changed.
func (c *City) raiseLocked(s *client.Session) {
	open := slices.IndexFunc(c.pending, func(p client.Pending) bool { return p.Session == s.Session && p.State == client.PendingOpen })
	waits := s.State == client.StateRunning && s.Activity.State == "waiting"
	s.Pending = 0
	switch {
	case waits && open < 0:
		if s.Activity.Kind == "" {
			s.Activity.Kind = "permission"
		}
		c.pending = append(c.pending, client.Pending{
			ID: fmt.Sprintf("q-%04d", len(c.pending)+1), Agent: s.Name, Session: s.Session, Instance: s.Instance, Kind: s.Activity.Kind,
			Prompt: "Allow to run this command?", Options: []string{"Yes", "Yes, and don't ask again", "No"}, Tool: "Bash", Input: "make test",
			Source: "fake", Since: time.Now(), Policy: "wait", State: client.PendingOpen,
		})
		s.Pending = 1
	case waits:
		s.Pending = 1
	case open >= 0:
		c.pending[open].State, c.pending[open].EndedAt = client.PendingResolved, time.Now()
	}
}

// Pending implements controlapi.City. An agent that waits asks for a permission.
func (c *City) Pending(_ context.Context, target string, which client.Which) ([]client.Pending, error) {
	if target != "" {
		if _, err := c.find(target); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []client.Pending
	for _, p := range c.pending {
		if (target == "" || p.Agent == target || p.Session == target) && (p.State == client.PendingOpen || which == client.WithEnded) {
			list = append(list, p)
		}
	}
	return list, nil
}

// Respond implements controlapi.City: the agent is idle after the answer.
func (c *City) Respond(_ context.Context, id string, req client.RespondRequest) (client.Pending, error) {
	c.mu.Lock()
	i := slices.IndexFunc(c.pending, func(p client.Pending) bool { return p.ID == id })
	if i < 0 {
		c.mu.Unlock()
		return client.Pending{}, fmt.Errorf("%w: no pending question %q", client.ErrNotFound, id)
	}
	p := &c.pending[i]
	if p.State != client.PendingOpen {
		defer c.mu.Unlock()
		return client.Pending{}, fmt.Errorf("%w: the question %s is %s already", client.ErrRefused, id, p.State)
	}
	said := req.Text
	if req.Option != "" {
		n, err := strconv.Atoi(req.Option)
		if err != nil || n < 1 || n > len(p.Options) {
			n = slices.IndexFunc(p.Options, func(o string) bool { return strings.EqualFold(o, req.Option) }) + 1
		}
		if n == 0 {
			defer c.mu.Unlock()
			return client.Pending{}, fmt.Errorf("%w: no option %q; there are: %s", client.ErrInvalid, req.Option, strings.Join(p.Options, ", "))
		}
		said = p.Options[n-1]
	}
	p.State, p.Answer, p.AnsweredBy, p.EndedAt = client.PendingAnswered, said, req.By, time.Now()
	answered := *p
	c.mu.Unlock()
	c.Set(answered.Agent, func(s *client.Session) {
		s.Activity = client.Activity{State: "idle", Source: "fake", Since: time.Now()}
	})
	return answered, nil
}
