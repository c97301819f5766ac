package render

import (
	"cmp"
	"fmt"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// inputBlockedFix returns how to unblock the input box of an agent.
func inputBlockedFix(name string) string {
	return fmt.Sprintf("fix: gc keys %s --clear-input, or clear it by hand: gc attach %s, or: gc restart %s", name, name, name)
}

// stalledFix returns what to do with an agent that makes no progress in its turn.
func stalledFix(name string) string {
	return fmt.Sprintf("fix: check with gc peek %s, then run gc interrupt %s or gc restart %s", name, name, name)
}

// lastSignal returns the last signal of progress of an agent.
func lastSignal(a client.Agent) string { return cmp.Or(textfmt.OneLine(a.LastSign), "unknown") }

// obstacleWidth is the largest width, in columns, of an obstacle's detail.
const obstacleWidth = 160

// obstacle returns in one line why an agent makes no progress, and when gc tries again. name is the agent
// that a proposed command names.
func (s Formatter) obstacle(name string, o *client.AgentObstacle) string {
	short := *o
	short.Detail = ""
	words := []string{short.String()}
	if left := textfmt.In(s.Now, o.NextTry); left != "" {
		words[0] += ", next try in " + left
	}
	left := textfmt.In(s.Now, o.ResetAt)
	switch {
	case left != "":
		words[0] += ", resets in " + left + " at " + o.ResetAt.Local().Format("15:04")
	case o.Kind == client.ObstacleLimit:
		words[0] += ", no reset time known"
	}
	if detail := Reason(o.Detail); detail != "" {
		words[0] += ": " + textfmt.Bound(detail, obstacleWidth)
	}
	if !o.ProbeAt.IsZero() {
		next := "next prompt is tried as soon as there is one"
		if left := textfmt.In(s.Now, o.ProbeAt); left != "" {
			next = "next prompt is tried in " + left + ", or at once after: gc resume " + textfmt.OneLine(name)
		}
		words = append(words, next)
	}
	return strings.Join(words, "; ")
}
