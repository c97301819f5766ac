package render

import (
	"maps"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Sessions returns a table of sessions with their runtime provider and instance.
func (s Formatter) Sessions(agents []client.Agent) string {
	t := &textfmt.Table{Heads: []string{"SESSION", "AGENT", "BACKEND", "STATE", "PID", "STARTED", "INSTANCE"}}
	for _, a := range agents {
		t.Add(textfmt.Cell{Text: a.Session}, textfmt.Cell{Text: a.Name}, textfmt.Cell{Text: a.Provider}, textfmt.Painted(a.State, StateColor(a.State)),
			number(a.PID), textfmt.Cell{Text: textfmt.Ago(s.Now, a.StartedAt)}, textfmt.Painted(a.Instance, textfmt.Faint))
	}
	return s.Table(t)
}

// Session returns the page of one session without its last screen.
func (s Formatter) Session(session client.Session) string {
	out := s.sessionFacts(session).render(s)
	if len(session.Processes) > 0 {
		out += s.head("PROCESSES") + s.Table(processTable(session.Processes))
	}
	return out
}

// sessionFacts returns the table of gc session show: the values of a session that are known, in a fixed order. Empty
// values are left out.
func (s Formatter) sessionFacts(it client.Session) *facts {
	f := &facts{}
	f.add("agent", it.Name, textfmt.Bold)
	f.plain("session", it.Session)
	f.plain("backend", it.Provider)
	f.plain("desired", it.Desired)
	f.add("state", it.State, StateColor(it.State))
	f.plain("activity", s.doing(it.Activity)+sourceOf(it.Activity))
	f.plain("reason", reasonWithout(it.LastScreen, it.Reason))
	f.add("warning", textfmt.ReplaceInternalTerms(it.Warning), textfmt.Yellow)
	f.plain("exit", it.Exit)
	f.plain("title", it.Title)
	f.plain("command", it.Command)
	f.plain("directory", it.WorkDir)
	f.plain("process", number(it.PID).Text)
	f.plain("attached", attachedText(it.Attached))
	f.plain("started", s.when(it.StartedAt))
	f.plain("last output", s.when(it.ActiveAt))
	f.plain("next try", formatTime(it.NextAt))
	f.plain("restarts", number(it.Restarts).Text)
	f.plain("run", number(int(min(it.Epoch, 1<<30))).Text)
	f.plain("instance", it.Instance)
	f.plain("pending", number(it.Pending).Text)
	f.plain("queued", number(it.Queued).Text)
	f.add("differs in", strings.Join(it.Drift, ", "), textfmt.Yellow)
	if s.Verbose {
		for _, key := range slices.Sorted(maps.Keys(it.Meta)) {
			f.plain("meta "+key, it.Meta[key])
		}
		for _, part := range slices.Sorted(maps.Keys(it.Fingerprints)) {
			f.add("fingerprint "+part, it.Fingerprints[part], textfmt.Faint)
		}
	}
	f.plain("observed", s.when(it.ReadAt))
	return f
}

// reasonWithout returns the reason in one line if the screen contains the output that it
// quotes, else the complete reason.
func reasonWithout(screen, reason string) string {
	if strings.Contains(screen, strings.TrimSpace(printed(reason))) || !strings.Contains(strings.TrimSpace(reason), "\n") {
		return Reason(reason)
	}
	return textfmt.ReplaceInternalTerms(reason)
}

// sourceOf returns the source of an activity in a form that can follow the activity; empty if the source is not known.
func sourceOf(a client.Activity) string {
	if a.Source == "" || a.State == "" {
		return ""
	}
	return " (from " + a.Source + ")"
}

// attachedText describes the number of attached terminals. A negative number means that it is not known; for zero the
// text is empty.
func attachedText(n int) string {
	switch {
	case n < 0:
		return "unknown: the runtime provider does not report it"
	case n == 0:
		return ""
	}
	return textfmt.Count(n, "terminal")
}

// processTable returns a table of processes, each indented below its parent.
func processTable(processes []client.Process) *textfmt.Table {
	depth := map[int]int{} // 1 for a process whose parent is not listed
	t := &textfmt.Table{Heads: []string{"PID", "STATE", "COMMAND"}}
	for _, p := range processes {
		d := depth[p.PPID] + 1
		depth[p.PID] = d
		command := p.Command
		if d > 1 {
			command = strings.Repeat("  ", d-2) + "└ " + command
		}
		t.Add(number(p.PID), textfmt.Cell{Text: p.State}, textfmt.Cell{Text: command})
	}
	return t
}
