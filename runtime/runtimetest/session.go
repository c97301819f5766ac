package runtimetest

import (
	"slices"
	"strings"

	"gascity/runtime"
)

// Session is a session of a [World] with the records of its agent.
type Session struct {
	Name  string
	Agent Agent
	w     *World
}

// Ledger returns the entries that the agent has recorded so far.
func (s *Session) Ledger() []Entry {
	s.w.t.Helper()
	text, _ := s.w.ReadFile(s.Agent.Ledger)
	entries, err := ParseLedger([]byte(text))
	if err != nil {
		s.w.t.Fatalf("ledger of %s: %v", s.Name, err)
	}
	return entries
}

// Recorded returns the recorded entries of the given kind.
func (s *Session) Recorded(kind string) []Entry {
	s.w.t.Helper()
	return slices.DeleteFunc(s.Ledger(), func(e Entry) bool { return e.Kind != kind })
}

// Await waits until the agent has recorded count entries of the given kind and returns them.
func (s *Session) Await(kind string, count int) []Entry {
	s.w.t.Helper()
	var entries []Entry
	s.w.Until(s.Name+" records "+kind, func() bool {
		entries = s.Recorded(kind)
		return len(entries) >= count
	})
	return entries
}

// AwaitPrompt waits until the agent has consumed exactly this prompt.
func (s *Session) AwaitPrompt(text string) {
	s.w.t.Helper()
	s.w.Until(s.Name+" consumes "+shorten(text), func() bool {
		return slices.ContainsFunc(s.Recorded(LedgerPrompt), func(e Entry) bool { return e.Is(text) })
	})
}

// PID waits for the agent's start and returns the process id of the newest instance.
func (s *Session) PID() int {
	s.w.t.Helper()
	started := s.Await(LedgerStart, 1)
	return started[len(started)-1].Run
}

// PIDs returns the ids of all processes that the agent has recorded: its own and those of its
// children.
func (s *Session) PIDs() []int {
	s.w.t.Helper()
	var pids []int
	for _, e := range s.Ledger() {
		pids = append(pids, e.processes()...)
	}
	return pids
}

// Environ waits for the environment that the agent was started with. The behavior must have
// PrintEnv.
func (s *Session) Environ() map[string]string {
	s.w.t.Helper()
	s.AwaitFile(s.Agent.Env)
	text, _ := s.w.ReadFile(s.Agent.Env)
	env := map[string]string{}
	for pair := range strings.SplitSeq(text, "\x00") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			env[key] = value
		}
	}
	return env
}

// AwaitFile waits until the file exists and returns its content. The file must be created in one
// step.
func (s *Session) AwaitFile(path string) string {
	s.w.t.Helper()
	var text string
	s.w.Until("file "+path, func() bool {
		var ok bool
		text, ok = s.w.ReadFile(path)
		return ok
	})
	return text
}

// AwaitOutput waits until Peek returns the text.
func (s *Session) AwaitOutput(text string) {
	s.w.t.Helper()
	s.w.Until(s.Name+" shows "+shorten(text), func() bool {
		out, err := s.w.Provider.Peek(s.Name, 0)
		return err == nil && strings.Contains(out, text)
	})
}

// AwaitEnd waits until the provider reports that the agent does not run.
func (s *Session) AwaitEnd() {
	s.w.t.Helper()
	s.w.Until("the end of "+s.Name+" is noticed", func() bool { return !s.w.Provider.IsRunning(s.Name) })
}

// Nudge sends a prompt. An error fails the case.
func (s *Session) Nudge(text string) {
	s.w.t.Helper()
	if err := s.w.Provider.Nudge(s.Name, runtime.TextContent(text)); err != nil {
		s.w.t.Fatalf("Nudge(%s, %s) = %v, want nil", s.Name, shorten(text), err)
	}
}

// Stop stops the session. An error fails the case.
func (s *Session) Stop() {
	s.w.t.Helper()
	if err := s.w.Provider.Stop(s.Name); err != nil {
		s.w.t.Fatalf("Stop(%s) = %v, want nil", s.Name, err)
	}
}

// Observe observes the session. An error fails the case.
func (s *Session) Observe() runtime.Observation {
	s.w.t.Helper()
	obs, err := runtime.Observe(s.w.ctx, s.w.Provider, s.Name)
	if err != nil {
		s.w.t.Fatalf("Observe(%s) = %v, want nil", s.Name, err)
	}
	return obs
}

// shorten returns the beginning of a text on one line.
func shorten(text string) string {
	const most = 40
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\n", `\n`), "?")
}

// processes returns the process ids in the entry.
func (e Entry) processes() []int {
	if e.Kind == LedgerStart {
		return []int{e.Run}
	}
	return e.PIDs
}
