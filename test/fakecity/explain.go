package fakecity

import (
	"context"
	"time"

	"gascity/client"
)

// Explain implements controlapi.City.
func (c *City) Explain(ctx context.Context, target string) (client.Explanation, error) {
	s, err := c.find(target)
	if err != nil {
		return client.Explanation{}, err
	}
	now := time.Now()
	e := client.Explanation{
		Agent: s.Agent, Decision: "none", Reason: "it is as the configuration says", Next: "nothing until something changes",
		Evidence: []client.Evidence{
			{Source: s.Activity.Source, Activity: s.Activity.State, Kind: s.Activity.Kind, Since: s.Activity.Since, ReadAt: now, Used: true, Confidence: s.Activity.Confidence},
			{Source: "process", Activity: "unknown", Detail: "the tree is quiet", ReadAt: now, Confidence: "guess"},
		},
		Facts: []client.Fact{{What: "session", Value: s.State, ReadAt: s.ReadAt}, {What: "store", Value: "fine", ReadAt: now}},
	}
	if s.State == client.StateFailed || s.State == client.StateQuarantined {
		e.Decision, e.Reason, e.Next, e.NextAt = "wait", "it failed 3 times", "start", now.Add(40*time.Second)
		e.Exit, e.Output = s.Exit, "worker: cannot read the settings\nworker: giving up\n"
		e.LastScreen = "$ worker\nworker: cannot read the settings\nworker: giving up\n"
		e.Failures = []time.Time{now.Add(-time.Minute), now.Add(-time.Second)}
	}
	if s.Warning != "" {
		e.Warnings = []string{s.Warning}
	}
	if e.Pending, err = c.Pending(ctx, target, client.OnlyOpen); err != nil {
		return e, err
	}
	if e.Queue, err = c.Queue(ctx, target, client.OnlyOpen); err != nil {
		return e, err
	}
	past, _, _ := c.log.after(0)
	for _, event := range past {
		if event.Session == s.Session {
			e.Recent = append(e.Recent, event)
		}
	}
	return e, nil
}

// Preview implements controlapi.Previewer: each agent is started again.
func (c *City) Preview(_ context.Context, _ client.PreviewRequest) (client.Plan, error) {
	plan := client.Plan{Actions: []client.Action{}, At: time.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.agents {
		plan.Actions = append(plan.Actions, client.Action{Verb: "restart", Agent: s.Name, Session: s.Session, Reason: "it differs", Fields: []string{"command"}})
	}
	return plan, nil
}
