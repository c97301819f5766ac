package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

const (
	recentShown = 8   // the largest number of events
	recentBrief = 4   // the same unless the page is verbose or the agent's state is unknown
	recentExit  = 2   // the same if the page also shows how the last run ended
	linesShown  = 12  // the largest number of output lines of a running agent
	quoteBrief  = 3   // the largest number of output lines unless the page is verbose
	factWidth   = 200 // the largest width of a fact's value, in columns
	fewLines    = 4   // a warning with fewer lines is printed unchanged
)

// Explanation returns the page of gc explain: first the state and the next action, then the
// facts and signals on which they are based.
func (s Formatter) Explanation(e client.Explanation) string {
	if problem, ok := problemOf(e); ok && !s.Verbose {
		return s.briefExplanation(e, problem)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n\n", s.Paint(textfmt.Bold, textfmt.OneLine(e.Agent.Name)), s.headline(e.Agent))
	out.WriteString(s.summary(e).render(s))
	out.WriteString(s.questionsForYou(e.Pending))
	if len(e.Budgets) > 0 {
		out.WriteString(s.head("BUDGETS"))
		out.WriteString(s.Budgets(e.Budgets))
	}
	if len(e.Queue) > 0 {
		out.WriteString(s.head("QUEUED PROMPTS"))
		out.WriteString(s.Queue(e.Queue))
	}
	out.WriteString(s.lastExit(e))
	all := s.Verbose || e.Agent.State == client.StateUnknown // the facts say why it is unknown
	well := runsWell(e)
	if all || well {
		out.WriteString(s.signals(e))
	}
	if all {
		out.WriteString(s.facts(e.Facts))
	}
	most := recentShown
	switch {
	case all:
	case e.Exit != "" || len(e.Failures) > 0:
		most = recentExit
	default:
		most = recentBrief
	}
	out.WriteString(s.recent(e.Recent, most))
	if !all && !well {
		out.WriteString("\n" + s.moreInVerbose(e.Agent.Name))
	}
	return out.String()
}

// moreInVerbose returns the line that says what -v adds.
func (s Formatter) moreInVerbose(name string) string {
	return s.Paint(textfmt.Faint, "all signals, facts and events: gc explain -v "+textfmt.OneLine(name)) + "\n"
}

// runsWell reports whether an agent runs as configured and the controller has nothing to do.
func runsWell(e client.Explanation) bool {
	a := &e.Agent
	return a.State == client.StateRunning && a.Reason == client.RunsAsConfigured && (e.Decision == "none" || e.Decision == "") &&
		a.InputBlocked == "" && a.StalledSince.IsZero() && a.Obstacle == nil && a.Held == ""
}

// questionsForYou returns a heading and the open questions of an agent; empty if there are none.
func (s Formatter) questionsForYou(open []client.Pending) string {
	if len(open) == 0 {
		return ""
	}
	plain := s
	plain.On = false // Indent would replace the colors
	return s.head("QUESTIONS FOR YOU") + textfmt.Indent(plain.Pending(open), indent) + "\n"
}

// headline returns the state and the activity of an agent in one line.
func (s Formatter) headline(a client.Agent) string {
	line := s.Paint(StateColor(a.State), textfmt.OneLine(a.State))
	if a.State == client.StateRunning && !a.StartedAt.IsZero() {
		line += " for " + textfmt.Span(s.Now.Sub(a.StartedAt))
	}
	if doing := s.activity(a); doing.Text != "" {
		line += ", " + s.Paint(doing.Color, textfmt.OneLine(doing.Text))
	}
	return line
}

// guardColors maps states of an agent's guard to colors. The others are yellow.
var guardColors = map[string]textfmt.Color{guarded: textfmt.Faint, "bypassed": textfmt.Red}

// summary returns the facts at the top of the page: problems, the state, and what the controller does.
func (s Formatter) summary(e client.Explanation) *facts {
	a := e.Agent
	f := &facts{}
	if a.InputBlocked != "" {
		f.add("input blocked", fmt.Sprintf("%s (%s)\n%s", Reason(a.InputBlocked), textfmt.Ago(s.Now, a.InputBlockedSince), inputBlockedFix(a.Name)), textfmt.Red)
	}
	if !a.StalledSince.IsZero() {
		f.add("stalled", fmt.Sprintf("no progress in its turn since %s; last signal: %s\n%s", textfmt.Ago(s.Now, a.StalledSince), lastSignal(a), stalledFix(a.Name)), textfmt.Red)
	}
	if a.Obstacle != nil {
		f.add("no progress", s.obstacle(a.Name, a.Obstacle), textfmt.Yellow)
	}
	f.add("reason", Reason(a.Reason), statusNoteColor(a))
	f.plain("desired", a.Desired)
	f.plain("controller", decision(e)+": "+cmp.Or(Reason(e.Reason), "no reason given"))
	f.add("next", s.next(e), textfmt.Bold)
	if !strings.Contains(a.Reason, a.Held) {
		f.add("held", textfmt.ReplaceInternalTerms(a.Held), textfmt.Yellow)
	}
	if a.Worker != nil {
		f.plain("worker", s.worker(a.Worker))
	}
	if e.Channel != nil {
		f.plain("prompts", channel(*e.Channel))
	}
	if held := a.Held != "" && a.GuardDetail != "" && strings.Contains(a.Held, a.GuardDetail); a.Guard != "" && (s.Verbose || !held) {
		f.add("guard", textfmt.ReplaceInternalTerms(cmp.Or(a.GuardDetail, a.Guard)), cmp.Or(guardColors[a.Guard], textfmt.Yellow))
	}
	for _, warning := range e.Warnings {
		f.add("warning", noteText(warning), textfmt.Yellow)
	}
	if s.activity(a).Text != "" {
		f.plain("activity", s.activityFact(a.Activity))
	}
	f.add("differs in", strings.Join(a.Drift, ", "), textfmt.Yellow)
	f.plain("session", sessionFact(a))
	f.plain("last output", textfmt.Ago(s.Now, a.ActiveAt))
	f.plain("restarts", number(a.Restarts).Text)
	return f
}

// channel describes how prompts are delivered to the agent.
func channel(c client.Channel) string {
	switch c.Way {
	case client.ChannelNative:
		return "by " + textfmt.OneLine(c.By)
	case client.ChannelWorker:
		return "by the worker API"
	case client.ChannelACP:
		return "by ACP"
	}
	return strings.Join(textfmt.NonEmpty("written to the agent's input", textfmt.OneLine(c.Reason)), ": ")
}

// noteText returns a note with fewer than [fewLines] lines unchanged, because each line is a
// note of its own. A longer note quotes the output of a program and is shortened to one line.
func noteText(note string) string {
	if strings.Count(note, "\n") < fewLines {
		return textfmt.ReplaceInternalTerms(note)
	}
	return Reason(note)
}

// noAction is the next action of an agent for which the controller has nothing to do.
const noAction = "no action until something changes"

// next returns the next action of the controller and its time.
func (s Formatter) next(e client.Explanation) string {
	next := textfmt.LocalTimes(cmp.Or(e.Next, noAction))
	first := slices.IndexFunc(e.Queue, func(r client.Receipt) bool { return r.State == client.ReceiptQueued && r.Position == 1 })
	if next == noAction && first >= 0 {
		return "gc delivers the queued prompt as soon as it can; it waits: " + cmp.Or(Reason(e.Queue[first].Reason), "no reason given")
	}
	left := textfmt.In(s.Now, e.NextAt)
	switch {
	case left == "":
		return next
	case strings.Contains(next, " at "):
		return next + " (in " + left + ")"
	}
	return next + " (in " + left + ", at " + e.NextAt.Local().Format("15:04:05") + ")"
}

// decision describes the plan's action. A failed agent waits longer after each failure (back-off).
func decision(e client.Explanation) string {
	failed := e.Agent.State == client.StateFailed || e.Agent.State == client.StateLost
	switch {
	case e.Decision == "none", e.Decision == "":
		return "no action"
	case e.Decision == "wait" && failed && !e.NextAt.IsZero():
		return "waits (back-off)"
	case e.Decision == "wait":
		return "waits"
	}
	return e.Decision
}

// activityFact returns the activity with its duration, source, confidence and detail.
func (s Formatter) activityFact(a client.Activity) string {
	words := s.doing(a)
	if !a.Since.IsZero() {
		words += " for " + textfmt.Span(s.Now.Sub(a.Since))
	}
	if a.Source != "" {
		words += ", from " + a.Source
	}
	if a.Confidence != "" {
		words += " (" + a.Confidence + ")"
	}
	return strings.Join(textfmt.NonEmpty(words, Reason(a.Detail)), ", ")
}

// sessionFact returns the session, the runtime provider, the process and the run in one line.
func sessionFact(a client.Agent) string {
	parts := []string{a.Session, a.Provider}
	if a.PID > 0 {
		parts = append(parts, fmt.Sprintf("process %d", a.PID))
	}
	if a.Epoch > 0 {
		parts = append(parts, fmt.Sprintf("run %d", a.Epoch))
	}
	if a.Attached > 0 {
		parts = append(parts, textfmt.Count(a.Attached, "terminal")+" attached")
	}
	return strings.Join(textfmt.NonEmpty(parts...), ", ")
}

// lastExit returns how the last run ended, with the last lines of its output.
func (s Formatter) lastExit(e client.Explanation) string {
	var out strings.Builder
	if e.Exit != "" || len(e.Failures) > 0 {
		out.WriteString(s.head("LAST EXIT"))
		f := &facts{}
		f.add("exit", Reason(e.Exit), textfmt.Red)
		if n := len(e.Failures); n > 0 {
			f.plain("failures", fmt.Sprintf("%d, the last one %s", n, textfmt.Ago(s.Now, e.Failures[n-1])))
		}
		out.WriteString(f.render(s))
	}
	said, most, screen := printed(e.Output), 0, linesShown
	output, grid := "LAST OUTPUT", "SCREEN"
	if e.Agent.State == client.StateRunning { // both are from the run before, and matter less
		most = linesShown
		output, grid = "LAST OUTPUT OF THE PREVIOUS RUN", "LAST SCREEN OF THE PREVIOUS RUN"
	}
	if !s.Verbose {
		most, screen = quoteBrief, quoteBrief
	}
	out.WriteString(s.quotation(output, said, most))
	if !strings.Contains(said, strings.TrimSpace(e.LastScreen)) {
		out.WriteString(s.quotation(grid, e.LastScreen, screen))
	}
	return out.String()
}

// printed returns the quoted output of a reason whose first line ends with "it printed:"; another text is
// returned unchanged.
func printed(output string) string {
	first, rest, more := strings.Cut(output, "\n")
	if more && strings.HasSuffix(strings.TrimSpace(first), "it printed:") {
		return rest
	}
	return output
}

// quotation returns a heading and the last lines of a text; all lines if most is zero.
func (s Formatter) quotation(title, words string, most int) string {
	words = strings.Trim(words, "\n")
	if strings.TrimSpace(words) == "" {
		return ""
	}
	lines := strings.Split(words, "\n")
	if more := len(lines) - most; most > 0 && more > 0 {
		title = fmt.Sprintf("%s (%d earlier lines left out)", title, more)
		lines = lines[more:]
	}
	return s.head(title) + textfmt.Indent(strings.Join(lines, "\n"), indent) + "\n"
}

// signals returns the table of activity signals. The signal that gc uses has a star.
func (s Formatter) signals(e client.Explanation) string {
	if len(e.Evidence) == 0 {
		return ""
	}
	t := &textfmt.Table{Heads: []string{"", "SOURCE", "ACTIVITY", "SINCE", "READ", "CONFIDENCE", "DETAIL"}}
	for _, v := range e.Evidence {
		star := ""
		if v.Used {
			star = "*"
		}
		activity := s.doing(client.Activity{State: v.Activity, Kind: v.Kind, Until: v.Until})
		t.Add(textfmt.Painted(star, textfmt.Green), textfmt.Cell{Text: v.Source}, textfmt.Cell{Text: activity}, textfmt.Cell{Text: textfmt.Ago(s.Now, v.Since)},
			textfmt.Cell{Text: textfmt.Ago(s.Now, v.ReadAt)}, textfmt.Cell{Text: v.Confidence}, textfmt.Cell{Text: Reason(v.Detail)})
	}
	return s.head("ACTIVITY SIGNALS (* = used)") + s.Table(t)
}

// facts returns the table of facts about the session, the agent's process, the store and the provider.
func (s Formatter) facts(all []client.Fact) string {
	if len(all) == 0 {
		return ""
	}
	t := &textfmt.Table{Heads: []string{"FACT", "VALUE", "READ"}}
	for _, v := range all {
		t.Add(textfmt.Cell{Text: v.What}, textfmt.Cell{Text: textfmt.Bound(Reason(v.Value), factWidth)}, textfmt.Cell{Text: textfmt.Ago(s.Now, v.ReadAt)})
	}
	return s.head("STATE") + s.Table(t)
}

// recent returns the latest events, at most the given number.
func (s Formatter) recent(events []client.Event, most int) string {
	if len(events) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString(s.head("RECENT EVENTS"))
	for _, e := range events[max(0, len(events)-most):] {
		row := s.Paint(textfmt.Faint, e.Time.Local().Format("15:04:05")) + "  " + s.Pad(eventColor(e.Kind), textfmt.OneLine(e.Kind), kindWidth) + "  "
		out.WriteString(s.hanging(row, e.Text))
	}
	return out.String()
}

// worker returns the last report of a worker in one line.
func (s Formatter) worker(w *client.Worker) string {
	words := cmp.Or(w.Status, "unknown")
	if w.Detail != "" {
		words += " (" + textfmt.ReplaceInternalTerms(w.Detail) + ")"
	}
	words += ", reports " + cmp.Or(textfmt.ReplaceInternalTerms(w.State), "no state") + fmt.Sprintf(", up %s", textfmt.Span(time.Duration(w.UptimeSeconds)*time.Second))
	if !w.HeardAt.IsZero() {
		words += ", last report " + textfmt.Ago(s.Now, w.HeardAt)
	}
	return strings.Join(textfmt.NonEmpty(words, contextUsed(w), "run "+textfmt.ReplaceInternalTerms(w.RunID)), ", ")
}

// contextUsed returns "context N% used"; empty if the usage is not known.
func contextUsed(w *client.Worker) string {
	if w == nil || w.ContextUsage == nil {
		return ""
	}
	return fmt.Sprintf("context %.0f%% used", *w.ContextUsage*100)
}
