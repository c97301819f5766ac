package questions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/proc"
	"gascity/internal/textfmt"
)

// maxVariable is the largest size of the prompt in the environment variable, in bytes. The JSON
// input contains the whole prompt.
const maxVariable = 16 << 10

// Command is a user's notification command. It runs once for each question, and once more when the
// question is escalated.
//
// It runs with sh -c in the city directory, in its own process group, which is killed when ctx
// ends. Its standard input is the question as JSON, a [client.Pending]. Its environment is Environ
// and GC_PENDING_ID, GC_AGENT, GC_SESSION_NAME, GC_PENDING_KIND, GC_PENDING_PROMPT,
// GC_PENDING_ESCALATED (1 or empty) and GC_CITY_PATH.
type Command struct {
	Line    string // empty: no notification
	City    string // the city directory
	Environ []string
}

// Notify runs the command for a question. It returns an error if the command exits with a status
// other than 0.
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
		{"GC_PENDING_PROMPT", textfmt.Truncate(p.Prompt, maxVariable)},
		{"GC_PENDING_ESCALATED", escalated},
		{"GC_CITY_PATH", c.City},
	} {
		env = append(env, pair[0]+"="+strings.ReplaceAll(pair[1], "\x00", ""))
	}
	return proc.Shell{Line: c.Line, Dir: c.City, Env: env, Stdin: append(stdin, '\n')}.Run(ctx)
}
