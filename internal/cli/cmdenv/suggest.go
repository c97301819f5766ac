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

// SuggestAgent adds to a "not found" error the agents with a similar name, or the names of all
// agents if they are few. The result wraps err.
func SuggestAgent(ctx context.Context, c *client.Client, name string, err error) error {
	if strings.Contains(err.Error(), "did you mean") || strings.Contains(err.Error(), "is a pool") {
		return err
	}
	status, statusErr := c.Status(ctx)
	if statusErr != nil {
		return err // keep the first error
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

// UnknownAgent returns the error for a name that no agent and no session has, with similar names. It is
// the controller's own error if that is a "not found", because that error may say more, for example
// that the name is a pool.
func UnknownAgent(ctx context.Context, c *client.Client, name string) error {
	_, err := c.Session(ctx, name)
	if !errors.Is(err, client.ErrNotFound) {
		err = fmt.Errorf("%w: no agent or session is called %q", client.ErrNotFound, name)
	}
	return SuggestAgent(ctx, c, name, err)
}

// DidYouMean returns "; did you mean ...?" with the nearest candidate. If none is near, it returns
// the list of candidates if they are few, else "".
func DidYouMean(word string, candidates []string) string {
	hint := config.Suggest(word, slices.Values(candidates))
	if hint == "" {
		return ""
	}
	return "; " + hint
}

// SuggestOf adds to a "not found" error the ids of list that are similar to id. The part of an entry
// after a tab is a description and is ignored. The result wraps err.
func SuggestOf(ctx context.Context, c *client.Client, id string, list IDs, err error) error {
	known, listErr := list(ctx, c)
	if listErr != nil {
		return err // keep the first error
	}
	for i, each := range known {
		known[i], _, _ = strings.Cut(each, "\t")
	}
	if len(known) == 0 {
		return fmt.Errorf("%w; there is none", err)
	}
	return fmt.Errorf("%w%s", err, DidYouMean(id, known))
}
