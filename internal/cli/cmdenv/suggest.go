package cmdenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/config"
)

// SuggestAgent adds to a "not found" what may be meant, or which agents there
// are. It is still err to errors.Is.
func SuggestAgent(ctx context.Context, c *client.Client, name string, err error) error {
	if strings.Contains(err.Error(), "did you mean") || strings.Contains(err.Error(), "is a pool") {
		return err
	}
	status, statusErr := c.Status(ctx)
	if statusErr != nil {
		return err // the first error says more than a failed suggestion
	}
	var agents, sessions []string
	for _, agent := range status.Agents {
		agents, sessions = append(agents, agent.Name), append(sessions, agent.Session)
	}
	if slices.Contains(agents, name) || slices.Contains(sessions, name) {
		return err // something else was not found
	}
	if len(agents) == 0 {
		return fmt.Errorf("%w; the city has no agents", err)
	}
	if hint := DidYouMean(name, sessions); strings.Contains(hint, "did you mean") {
		return fmt.Errorf("%w%s", err, hint)
	}
	return fmt.Errorf("%w%s", err, DidYouMean(name, agents))
}

// UnknownAgent returns the error for a name that no agent and no session has: what the controller says
// of it, as that it is a pool, and what may be meant.
func UnknownAgent(ctx context.Context, c *client.Client, name string) error {
	_, err := c.Session(ctx, name)
	if !errors.Is(err, client.ErrNotFound) {
		err = fmt.Errorf("%w: no agent or session is called %q", client.ErrNotFound, name)
	}
	return SuggestAgent(ctx, c, name, err)
}

// DidYouMean returns "; did you mean ...?" with the nearest candidate, else the
// candidates if they are few, else nothing.
func DidYouMean(word string, candidates []string) string {
	hint := config.Suggest(word, slices.Values(candidates))
	if hint == "" {
		return ""
	}
	return "; " + hint
}

// SuggestOf adds to a "not found" which of the listed ids may be meant. An id
// ends at a tab: what follows describes it.
func SuggestOf(ctx context.Context, c *client.Client, id string, list func(context.Context, *client.Client) ([]string, error), err error) error {
	known, listErr := list(ctx, c)
	if listErr != nil {
		return err // the first error says more than a failed suggestion
	}
	for i, each := range known {
		known[i], _, _ = strings.Cut(each, "\t")
	}
	if len(known) == 0 {
		return fmt.Errorf("%w; there is none", err)
	}
	return fmt.Errorf("%w%s", err, DidYouMean(id, known))
}
