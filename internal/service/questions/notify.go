package questions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/proc"
)

// maxVariable bounds the prompt in the environment; the whole of it is in the
// JSON.
const maxVariable = 16 << 10

// Command is a user's notifier: a command line that is run once for a question,
// and once more when it is escalated.
//
// It runs by sh -c in the city directory, in a process group of its own that is
// killed when ctx ends. On its input is the question as JSON, a
// [client.Pending]; its environment holds GC_PENDING_ID, GC_AGENT,
// GC_SESSION_NAME, GC_PENDING_KIND, GC_PENDING_PROMPT, GC_PENDING_ESCALATED (1 or
// empty) and GC_CITY_PATH beside Environ.
type Command struct {
	Line    string // empty: no notification
	City    string // the city directory
	Environ []string
}

// Notify runs the command for a question. A status other than 0 is an error.
func (c Command) Notify(ctx context.Context, p client.Pending) error {
	if c.Line == "" {
		return nil
	}
	stdin, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("cannot report %s: %w", p.ID, err)
	}
	escalated := ""
	if !p.Escalated.IsZero() {
		escalated = "1"
	}
	env := slices.Clone(c.Environ)
	for _, pair := range [][2]string{
		{"GC_PENDING_ID", p.ID},
		{"GC_AGENT", p.Agent},
		{"GC_SESSION_NAME", p.Session},
		{"GC_PENDING_KIND", p.Kind},
		{"GC_PENDING_PROMPT", bound(p.Prompt, maxVariable)},
		{"GC_PENDING_ESCALATED", escalated},
		{"GC_CITY_PATH", c.City},
	} {
		env = append(env, pair[0]+"="+strings.ReplaceAll(pair[1], "\x00", ""))
	}
	return proc.Shell{Line: c.Line, Dir: c.City, Env: env, Stdin: append(stdin, '\n')}.Run(ctx)
}
