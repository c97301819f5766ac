package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// Status returns the page of gc status: first problems of the controller and the open questions, then
// agents that are blocked or stalled, then a table of all agents, then warnings. questions are all open
// questions of the city, and prompts are those that wait.
func (s Formatter) Status(status client.Status, questions []client.Pending, prompts []client.Receipt) string {
	var out strings.Builder
	out.WriteString(s.wrap(fmt.Sprintf("%s  %s  %s", s.Paint(textfmt.Bold, textfmt.OneLine(status.City)), s.Paint(textfmt.Faint, textfmt.OneLine(status.Root)), summary(status))))
	if words := burn(status.Burn, " tokens"); words != "" {
		fmt.Fprintf(&out, "spending: %s\n", words)
	}
	if why := status.Controller.Degraded; why != "" {
		out.WriteString(s.wrap(s.Paint(textfmt.Red, "degraded: gc neither stops nor restarts agents until this is fixed:") + " " + textfmt.OneLine(why)))
	}
	for _, notice := range status.Controller.Notices {
		out.WriteString(s.wrap(s.Paint(textfmt.Yellow, "warning:") + " " + textfmt.OneLine(notice)))
	}
	if status.Plan.Error != "" {
		fmt.Fprintf(&out, "%s\n", s.Paint(textfmt.Red, client.CityFile+" has errors; still running with the previous configuration:"))
		fmt.Fprintln(&out, textfmt.Indent(firstFaults(status.Plan.Error), indent))
	}
	if len(status.Agents) == 0 {
		fmt.Fprintf(&out, "\nno agents; add one to %s\n", client.CityFile)
		return out.String()
	}
	out.WriteString(s.questions(status.Agents, questions))
	out.WriteString(s.blocked(withoutAsked(status.Agents, questions)))
	out.WriteByte('\n')
	alerts := s.alerts(status)
	out.WriteString(s.fitted(s.agents(byUrgency(session.OneRow(status.Agents)), prompts), out.String(), alerts))
	out.WriteString(alerts)
	return out.String()
}

// faultsShown is the largest number of errors of city.toml above the table of agents.
const faultsShown = 3

// firstFaults returns the first errors of city.toml, and how many are left out. Each error is a paragraph.
func firstFaults(all string) string {
	faults := strings.Split(strings.TrimRight(all, "\n"), "\n\n")
	if len(faults) <= faultsShown {
		return all
	}
	more := fmt.Sprintf("and %d more; to list them: gc config check", len(faults)-faultsShown)
	return strings.Join(append(faults[:faultsShown:faultsShown], more), "\n\n")
}

// summary returns the number of agents, and how many need a person, cannot continue, do not run and are busy.
func summary(status client.Status) string {
	if status.Controller.Stopping {
		return "the city is being stopped"
	}
	count := map[string]int{}
	agents := session.OneRow(status.Agents)
	for _, a := range agents {
		switch {
		case a.Pending > 0:
			count["need you"]++
		case a.Obstacle != nil || a.InputBlocked != "" || !a.StalledSince.IsZero() || StateColor(a.State) == textfmt.Red:
			count["cannot continue"]++
		case a.State != client.StateRunning:
			count["not running"]++
		case a.Activity.State == string(runtime.ActivityBusy):
			count["busy"]++
		}
	}
	var parts []string
	for _, what := range []string{"need you", "cannot continue", "not running", "busy"} {
		switch n := count[what]; {
		case n == 1 && what == "need you":
			parts = append(parts, "1 needs you")
		case n > 0:
			parts = append(parts, fmt.Sprint(n, " ", what))
		}
	}
	words := textfmt.Count(len(agents), "agent")
	if len(parts) > 0 {
		words += ": " + strings.Join(parts, ", ")
	}
	return words
}

// byUrgency returns the agents sorted for a person: first agents that wait for a person, then
// agents with an obstacle (a login first), then agents with a warning or a failure, then the
// others. Inside each group the order does not change.
func byUrgency(agents []client.Agent) []client.Agent {
	urgency := func(a client.Agent) int {
		switch {
		case a.Pending > 0, a.Activity.State == string(runtime.ActivityWaiting) && a.State == client.StateRunning:
			return 0
		case a.Obstacle != nil && a.Obstacle.Kind == client.ObstacleLogin:
			return 1
		case a.Obstacle != nil:
			return 2
		case a.Warning != "", StateColor(a.State) == textfmt.Red:
			return 3
		}
		return 4
	}
	sorted := slices.Clone(agents)
	slices.SortStableFunc(sorted, func(a, b client.Agent) int { return cmp.Compare(urgency(a), urgency(b)) })
	return sorted
}

// fitted returns a table without its last rows if the page, with the text above and below the
// table, would have more than s.Rows rows. The heading stays, and a last line has the number
// of rows that were left out.
func (s Formatter) fitted(table, above, below string) string {
	left := s.Rows - textfmt.Rows(above, s.Columns) - textfmt.Rows(below, s.Columns)
	if s.Rows <= 0 || textfmt.Rows(table, s.Columns) <= left {
		return table
	}
	rows := tableRows(table)
	var out strings.Builder
	for i, row := range rows {
		height := textfmt.Rows(row, s.Columns)
		if i > 0 && left-height < 1 { // one row is for the number
			fmt.Fprintf(&out, "%s\n", s.Paint(textfmt.Faint, fmt.Sprintf("… %d more", len(rows)-i)))
			break
		}
		left -= height
		out.WriteString(row)
	}
	return out.String()
}

// tableRows splits a table into its rows. A line that begins with a blank continues the
// row above it.
func tableRows(table string) []string {
	var rows []string
	for line := range strings.Lines(table) {
		if len(rows) > 0 && strings.HasPrefix(line, " ") {
			rows[len(rows)-1] += line
		} else {
			rows = append(rows, line)
		}
	}
	return rows
}

// Controller returns one line about the controller.
func (s Formatter) Controller(c client.Controller) string {
	line := fmt.Sprintf("controller %s, process %d, started %s", textfmt.OneLine(c.Version), c.PID, textfmt.Ago(s.Now, c.StartedAt))
	if c.Stopping {
		line += ", " + s.Paint(textfmt.Yellow, "stopping")
	}
	return line
}

// wideStatus is the smallest width of a terminal, in columns, for the columns that are rarely needed.
const wideStatus = 100

// agents returns the table of the agents. prompts are those that wait.
func (s Formatter) agents(agents []client.Agent, prompts []client.Receipt) string {
	t := &textfmt.Table{Heads: []string{"AGENT", "STATE", "ACTIVITY", "UP", "OUTPUT", "PENDING", "QUEUED", "SPENDS", "BACKEND", "PID", "ATTACHED", "NOTE"}}
	mixed := slices.ContainsFunc(agents, func(a client.Agent) bool { return a.Provider != agents[0].Provider })
	for _, agent := range agents {
		backend := ""
		if mixed {
			backend = agent.Provider
		}
		pid, attached := number(agent.PID), number(agent.Attached)
		output := textfmt.Ago(s.Now, agent.ActiveAt)
		up := ""
		if agent.State == client.StateRunning && !agent.StartedAt.IsZero() {
			up = textfmt.Span(s.Now.Sub(agent.StartedAt))
		}
		pending := number(agent.Pending)
		pending.Color = textfmt.Yellow
		if s.Columns > 0 && s.Columns < wideStatus { // the questions are printed above the table
			pid, attached, pending, backend = textfmt.Cell{}, textfmt.Cell{}, textfmt.Cell{}, ""
			output = strings.TrimSuffix(output, " ago")
		}
		t.Add(
			textfmt.Cell{Text: agent.Name}, textfmt.Painted(agent.State, StateColor(agent.State)), s.activity(agent), textfmt.Cell{Text: up},
			textfmt.Cell{Text: output}, pending, number(agent.Queued),
			textfmt.Cell{Text: burn(agent.Burn, "")}, textfmt.Cell{Text: backend}, pid, attached, textfmt.Painted(textfmt.Join(s.statusNote(agent), waitingPrompt(agent, prompts)), statusNoteColor(agent)),
		)
	}
	return s.Table(t)
}

// questions returns the number of open questions and as many of them as there is room for.
func (s Formatter) questions(agents []client.Agent, open []client.Pending) string {
	n := 0
	for _, a := range agents {
		n += a.Pending
	}
	if n = max(n, len(open)); n == 0 {
		return ""
	}
	room := maxQuestions
	if s.Rows > 0 {
		room = min(room, max(1, s.Rows/questionRows-1))
	}
	shown := open[:min(room, len(open))]
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s\n", s.Paint(textfmt.Yellow, waiting(n)))
	for _, p := range shown {
		out.WriteString(s.openQuestion(p))
	}
	if more := n - len(shown); more > 0 {
		fmt.Fprintf(&out, "  %d more: gc pending\n", more)
	}
	return out.String()
}

const (
	// maxQuestions is the largest number of questions in the status; gc pending shows all.
	maxQuestions = 5
	// questionRows is the number of rows of a page for each question that is shown.
	questionRows = 8
)

// withoutAsked returns the agents for which the status must show a line about a blocked input box. It leaves out an agent
// if questions already has this as a question.
func withoutAsked(agents []client.Agent, questions []client.Pending) []client.Agent {
	return slices.DeleteFunc(slices.Clone(agents), func(a client.Agent) bool {
		return a.StalledSince.IsZero() && slices.ContainsFunc(questions, func(p client.Pending) bool { return p.Kind == client.PendingInputBlocked && p.Agent == a.Name })
	})
}

// blocked returns a line and a fix for each agent whose input box is blocked or whose turn has stalled.
func (s Formatter) blocked(agents []client.Agent) string {
	var out strings.Builder
	for _, a := range agents {
		if a.InputBlocked == "" {
			continue
		}
		name := textfmt.OneLine(a.Name)
		waiting := ""
		if a.Queued > 0 {
			waiting = ", " + textfmt.Count(a.Queued, "prompt") + " waiting"
		}
		out.WriteString(s.wrap(fmt.Sprintf("%s %s: %s", s.Paint(textfmt.Red, name+" is input blocked"), "since "+textfmt.Ago(s.Now, a.InputBlockedSince)+waiting, Reason(a.InputBlocked))))
		out.WriteString(s.wrap("   " + inputBlockedFix(name)))
	}
	for _, a := range agents {
		if a.StalledSince.IsZero() {
			continue
		}
		name := textfmt.OneLine(a.Name)
		out.WriteString(s.wrap(fmt.Sprintf("%s: no progress in its turn for %s (last signal: %s)", s.Paint(textfmt.Red, name+" is stalled"),
			textfmt.Span(s.Now.Sub(a.StalledSince)), lastSignal(a))))
		out.WriteString(s.wrap("   " + stalledFix(name)))
	}
	return out.String()
}

// activity returns the cell with an agent's activity; empty if the agent does not run.
func (s Formatter) activity(agent client.Agent) textfmt.Cell {
	if agent.State != client.StateRunning && agent.State != client.StateDraining {
		return textfmt.Cell{}
	}
	if agent.InputBlocked != "" {
		return textfmt.Painted("input blocked", textfmt.Red)
	}
	if !agent.StalledSince.IsZero() {
		return textfmt.Painted("stalled", textfmt.Red)
	}
	words, color := s.doing(agent.Activity), textfmt.Plain
	switch agent.Activity.State {
	case "waiting", "limited":
		color = textfmt.Yellow
	case "unknown", "":
		color = textfmt.Faint
	}
	return textfmt.Painted(words, color)
}

// doing describes an activity. A guess begins with "likely".
func (s Formatter) doing(a client.Activity) string {
	words := cmp.Or(a.State, "unknown")
	switch {
	case words == "unknown":
		return words
	case a.Confidence == "guess":
		words = "likely " + words
	}
	if a.Kind != "" {
		words += ": " + textfmt.ReplaceInternalTerms(a.Kind)
	}
	if left := textfmt.In(s.Now, a.Until); left != "" {
		words += " for " + left
	}
	return words
}

// statusNoteColor returns the color of an agent's note.
func statusNoteColor(agent client.Agent) textfmt.Color {
	if agent.Obstacle != nil {
		return textfmt.Yellow
	}
	if c := StateColor(agent.State); c == textfmt.Red {
		return textfmt.Red
	}
	return textfmt.Faint
}

// statusNote returns the note of an agent: what the other columns do not show.
func (s Formatter) statusNote(agent client.Agent) string {
	var parts []string
	if agent.Desired != agent.State && agent.Desired != client.StateRunning && agent.Desired != "" && !atRest(agent) {
		parts = append(parts, "desired: "+agent.Desired)
	}
	if agent.Obstacle != nil { // an obstacle has more details than the reason
		parts = append(parts, s.obstacle(agent.Name, agent.Obstacle))
	} else {
		parts = append(parts, reasonBeyondState(agent))
	}
	if agent.State != client.StateRunning && agent.Exit != "" && !strings.Contains(agent.Reason, agent.Exit) {
		parts = append(parts, Reason(agent.Exit))
	}
	if strings.HasPrefix(agent.Held, "budget") && !strings.Contains(agent.Reason, "budget") {
		parts = append(parts, "prompts wait: a budget is used up")
	}
	parts = append(parts, contextUsed(agent.Worker))
	if agent.Guard != "" && agent.Guard != guarded && agent.Guard != unguarded {
		parts = append(parts, agent.Guard)
	}
	if next := textfmt.In(s.Now, agent.NextAt); next != "" {
		parts = append(parts, "next try in "+next)
	}
	if agent.Restarts > 0 {
		parts = append(parts, textfmt.Count(agent.Restarts, "restart"))
	}
	if len(agent.Drift) > 0 {
		parts = append(parts, "differs from its configuration: "+strings.Join(agent.Drift, ", "))
	}
	if agent.State == client.StateUnknown && !agent.ReadAt.IsZero() {
		parts = append(parts, "last seen "+textfmt.Ago(s.Now, agent.ReadAt))
	}
	return textfmt.Join(parts...)
}

// waitingPrompt returns why the next prompt of an agent waits, if the other columns do not show it.
func waitingPrompt(agent client.Agent, prompts []client.Receipt) string {
	if agent.State != client.StateRunning || agent.InputBlocked != "" || agent.Obstacle != nil {
		return ""
	}
	at := slices.IndexFunc(prompts, func(r client.Receipt) bool {
		return r.Agent == agent.Name && r.State == client.ReceiptQueued && r.Position == 1
	})
	if at < 0 || prompts[at].Reason == "" || strings.HasPrefix(prompts[at].Reason, "the agent is busy") || strings.HasPrefix(prompts[at].Reason, "the agent waits") {
		return ""
	}
	return "its prompt waits: " + Reason(prompts[at].Reason)
}

// Values of [client.Agent.Guard].
const (
	guarded   = "guarded"
	unguarded = "unguarded"
)

// atRest reports whether an agent is not running and should not run.
func atRest(agent client.Agent) bool {
	return slices.Contains([]string{client.StateAsleep, client.StateSuspended, client.StateStopped}, agent.State) &&
		(agent.Desired == client.StateStopped || agent.Desired == client.StateSuspended)
}

// reasonBeyondState returns the reason of an agent's state, without words that repeat the state.
func reasonBeyondState(agent client.Agent) string {
	if agent.Reason == client.RunsAsConfigured {
		return ""
	}
	reason := Reason(agent.Reason)
	for state, words := range map[string]string{client.StateAsleep: "it sleeps", client.StateSuspended: "it is suspended"} {
		if rest, ok := strings.CutPrefix(reason, words); ok && agent.State == state {
			return strings.TrimPrefix(rest, ": ")
		}
	}
	return reason
}

// budgetAlert describes a budget that is used up, its consequence, and how to continue.
func (s Formatter) budgetAlert(b client.Budget) string {
	words := textfmt.OneLine(b.Text)
	if b.Who != "" {
		words = textfmt.OneLine(b.Who) + ", " + words
	}
	switch b.Act {
	case "hold":
		words += "; new prompts wait"
	case "interrupt":
		words += "; its turn was interrupted and new prompts wait"
	case "stop":
		words += "; stopped"
	}
	return words + s.again(b)
}

// alerts returns the lines below the table: budgets that are used up, and warnings of agents.
func (s Formatter) alerts(status client.Status) string {
	var out strings.Builder
	for _, b := range status.Budgets {
		out.WriteString(s.wrap(s.Paint(textfmt.Yellow, "budget:") + " " + s.budgetAlert(b)))
	}
	var open []string
	for _, agent := range status.Agents {
		accepted := agent.GuardDetail == guard.DetailHookless && agent.Held == "" // as city.toml wants it, and no start waits for it
		if agent.Guard == unguarded && agent.State == client.StateRunning && !accepted {
			open = append(open, textfmt.OneLine(agent.Name))
		}
	}
	if len(open) > 0 {
		out.WriteString(s.wrap(fmt.Sprintf("%s [guard] does not check the tool calls of %s; for the reason: gc explain %s", s.Paint(textfmt.Yellow, "unguarded:"), textfmt.List(open), open[0])))
	}
	for _, agent := range status.Agents {
		if agent.Warning != "" {
			out.WriteString(s.wrap(fmt.Sprintf("%s %s: %s", s.Paint(textfmt.Yellow, "warning:"), textfmt.OneLine(agent.Name), Reason(agent.Warning))))
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n" + out.String()
}

// waiting returns the heading of n open questions.
func waiting(n int) string {
	if n == 1 {
		return "1 question waits for your answer"
	}
	return fmt.Sprintf("%d questions wait for your answer", n)
}
