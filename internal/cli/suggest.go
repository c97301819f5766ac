package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
)

// maxListed is how many names a message lists.
const maxListed = 8

// suggestAgent adds to a "not found" what may be meant, or which agents there
// are. It is still err to errors.Is.
func (a *app) suggestAgent(ctx context.Context, c *client.Client, name string, err error) error {
	if strings.Contains(err.Error(), "did you mean") {
		return err
	}
	status, statusErr := c.Status(ctx)
	if statusErr != nil {
		return err // the first error says more than a failed suggestion
	}
	var agents, all []string
	for _, agent := range status.Agents {
		agents = append(agents, agent.Name)
		all = append(all, agent.Name, agent.Session)
	}
	if slices.Contains(all, name) {
		return err // something else was not found
	}
	hint := didYouMean(name, all)
	switch {
	case hint != "":
	case len(agents) == 0:
		hint = "; the city has no agents"
	default:
		hint = "; agents are " + list(agents)
	}
	return fmt.Errorf("%w%s", err, hint)
}

// didYouMean returns "; did you mean ...?" with the candidates nearest to the
// word, or nothing if none is near.
func didYouMean(word string, candidates []string) string {
	best, nearest := max(2, len(word)/3)+1, []string(nil)
	for _, c := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if len(word) >= 2 && strings.HasPrefix(c, word) {
			d = 1
		}
		if d < best {
			best, nearest = d, nil
		}
		if d == best && d <= max(2, len(word)/3) {
			nearest = append(nearest, c)
		}
	}
	if len(nearest) == 0 || best >= len(word) {
		return ""
	}
	return "; did you mean " + strings.Join(nearest[:min(len(nearest), 3)], " or ") + "?"
}

// distance is the number of edits between two words: a letter added, left out,
// changed, or swapped with its neighbour.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last, next := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := range s {
		next[0] = i + 1
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			next[j+1] = min(next[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(t)]
}

// list joins names for a message.
func list(names []string) string {
	if len(names) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}
