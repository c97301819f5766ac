package cmdenv

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Selection names the agents on which a command acts.
type Selection struct {
	Names []string // agents, sessions, or patterns for names of agents
	All   bool     // every agent that is not suspended; Names is empty then
}

// AllFlag adds the flag --all to a command.
func (s *Selection) AllFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.All, "all", false, "every agent that is not suspended")
}

// One reports whether the selection is exactly one name, not a pattern.
func (s *Selection) One() bool { return !s.All && len(s.Names) == 1 && !IsPattern(s.Names[0]) }

// IsPattern reports whether a name is a pattern with * ? or [...], as in a shell.
func IsPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// Agents returns the selected agents, each once, in the order of the names. A name that matches no
// agent is an error.
func (s *Selection) Agents(ctx context.Context, c *client.Client) ([]client.Agent, error) {
	status, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	return s.Of(ctx, c, status)
}

// Of is like [Selection.Agents] for the agents of a status.
func (s *Selection) Of(ctx context.Context, c *client.Client, status client.Status) ([]client.Agent, error) {
	var selected []client.Agent
	add := func(agent client.Agent) {
		if !slices.ContainsFunc(selected, func(has client.Agent) bool { return has.Session == agent.Session }) {
			selected = append(selected, agent)
		}
	}
	if s.All {
		for _, agent := range status.Agents {
			if agent.Desired != client.StateSuspended && agent.State != client.StateSuspended {
				add(agent)
			}
		}
		if len(selected) == 0 {
			return nil, fmt.Errorf("%w: the city has no agent that is not suspended", client.ErrNotFound)
		}
		return selected, nil
	}
	for _, name := range s.Names {
		if name == "" {
			return nil, errNoName
		}
		found := false
		for _, agent := range status.Agents {
			match, err := path.Match(name, agent.Name)
			if err != nil {
				return nil, fmt.Errorf("%w: the pattern %q is not valid: a [ has no ]", client.ErrInvalid, name)
			}
			if Named(agent, name) || IsPattern(name) && match {
				found = true
				add(agent)
			}
		}
		if !found {
			return nil, UnknownAgent(ctx, c, name)
		}
	}
	return selected, nil
}

// ForEach calls do for all agents concurrently and waits for all calls. Then it prints the errors in
// the order of the agents. It returns a [SilentExit] with the status of the first agent that failed.
func (d *Base) ForEach(agents []client.Agent, do func(i int, agent client.Agent) error) error {
	errs := make([]error, len(agents))
	var running sync.WaitGroup
	for i, agent := range agents {
		running.Go(func() { errs[i] = do(i, agent) })
	}
	running.Wait()
	var status int
	for i, err := range errs {
		if err == nil {
			continue
		}
		if !IsSilent(err) {
			d.printError(fmt.Errorf("%s: %w", textfmt.OneLine(agents[i].Name), err))
		}
		if status == Done {
			status = StatusOf(err)
		}
	}
	return SilentExit(status)
}
