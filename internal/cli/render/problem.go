package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// briefLines is the number of lines of output that the brief explanation of a failure quotes.
const briefLines = 3

// problem is why an agent does not work, since when, and the command that fixes it.
type problem struct {
	what, fix string
	since     time.Time
}

// problemOf returns the problem of an agent that a person should know first. Without one ok is false. The text of an obstacle
// is shown elsewhere, so it is empty here.
func problemOf(e client.Explanation) (p problem, ok bool) {
	a, name := &e.Agent, textfmt.OneLine(e.Agent.Name)
	restart := "gc restart " + name
	switch {
	case len(e.Pending) > 0:
		return problem{"it waits for your answer", "see the question below", e.Pending[0].Since}, true
	case a.InputBlocked != "":
		return problem{"its input box is blocked: " + Reason(a.InputBlocked), "gc keys " + name + " --clear-input, or by hand: gc attach " + name + ", or: " + restart, a.InputBlockedSince}, true
	case !a.StalledSince.IsZero():
		return problem{"no progress in its turn; last signal: " + lastSignal(*a), "check with gc peek " + name + ", then: gc interrupt " + name + ", or: " + restart, a.StalledSince}, true
	case a.Obstacle != nil && a.Obstacle.Kind == client.ObstacleLogin:
		return problem{"", "gc attach " + name + ", sign in, detach; then: gc resume " + name, a.Obstacle.Since}, true
	case a.Obstacle != nil:
		return problem{"", "gc resume " + name + " tries again at once", a.Obstacle.Since}, true
	case StateColor(a.State) == textfmt.Red:
		since := time.Time{}
		if n := len(e.Failures); n > 0 {
			since = e.Failures[0]
		}
		return problem{Reason(a.Reason), restart, since}, true
	}
	return problem{}, false
}

// briefExplanation returns the explanation of an agent with a problem: what is wrong, since when, and the command that fixes it.
func (s Formatter) briefExplanation(e client.Explanation, p problem) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n", s.Paint(textfmt.Bold, textfmt.OneLine(e.Agent.Name)), s.headline(e.Agent))
	f := &facts{}
	if p.what == "" {
		p.what = s.obstacle(e.Agent.Name, e.Agent.Obstacle)
	}
	f.add("problem", textfmt.Bound(p.what, factWidth), textfmt.Red)
	since := s.when(p.since)
	if n := len(e.Failures); n > 1 && since != "" && len(e.Pending) == 0 {
		since += fmt.Sprintf(" (%d failures, the last one %s)", n, textfmt.Ago(s.Now, e.Failures[n-1]))
	}
	f.plain("since", since)
	f.add("fix", p.fix, textfmt.Bold)
	f.plain("next", s.next(e))
	out.WriteString(f.render(s))
	if said := strings.TrimSpace(printed(cmp.Or(e.Output, e.LastScreen))); said != "" && StateColor(e.Agent.State) == textfmt.Red {
		lines := strings.Split(said, "\n")
		for _, line := range lines[max(0, len(lines)-briefLines):] {
			out.WriteString(s.Paint(textfmt.Faint, "  | "+textfmt.Cut(textfmt.OneLine(line), max(0, s.Columns-4))) + "\n")
		}
	}
	out.WriteString(s.questionsForYou(e.Pending))
	out.WriteString(s.moreInVerbose(e.Agent.Name))
	return out.String()
}
