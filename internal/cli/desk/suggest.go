package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/config"
)

// SuggestAgent adds to a "not found" what may be meant, or which agents there
// are. It is still err to errors.Is.
func SuggestAgent(ctx context.Context, c *client.Client, name string, err error) error {
	if strings.Contains(err.Error(), "did you mean") {
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

// DidYouMean returns "; did you mean ...?" with the nearest candidate, else the
// candidates if they are few, else nothing.
func DidYouMean(word string, candidates []string) string {
	hint := config.Suggest(word, slices.Values(candidates))
	if hint == "" {
		return ""
	}
	return "; " + hint
}
