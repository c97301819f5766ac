package render

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Census returns a table of the sessions that were stopped, with the number of their processes.
func (s Formatter) Census(census client.Census) string {
	t := &textfmt.Table{Heads: []string{"AGENT", "SESSION", "PROCESSES", "TIME", "RESULT"}}
	for _, r := range census.Sessions {
		result := textfmt.Painted("stopped", textfmt.Green)
		if why := NotEnded(r); why != "" {
			result = textfmt.Painted(why, textfmt.Red)
		}
		t.Add(textfmt.Cell{Text: r.Agent}, textfmt.Cell{Text: r.Session}, textfmt.Cell{Text: Processes(r)}, textfmt.Cell{Text: fmt.Sprintf("%.1fs", r.Seconds)}, result)
	}
	return s.Table(t)
}

// Processes returns the number of processes of a session, or "not counted".
func Processes(r client.StopResult) string {
	if r.Uncounted {
		return "not counted"
	}
	return fmt.Sprint(r.Processes)
}

// Stopped returns the summary of a stop after which no session is known to run.
func Stopped(census client.Census) string {
	processes, uncounted := 0, 0
	for _, r := range census.Sessions {
		processes += r.Processes
		if r.Uncounted {
			uncounted++
		}
	}
	all := textfmt.Count(len(census.Sessions), "session")
	switch {
	case uncounted == 0:
		return fmt.Sprintf("%s with %s stopped, none survived", all, textfmt.Count(processes, "process"))
	case uncounted == len(census.Sessions):
		return all + " stopped; the processes were not counted, because the runtime provider does not report them"
	}
	return fmt.Sprintf("%s stopped; %d of them had %s, and none survived; the runtime providers of the others do not count processes", all, len(census.Sessions)-uncounted, textfmt.Count(processes, "process"))
}

// NotEnded returns why a session has not stopped; empty if it has.
func NotEnded(r client.StopResult) string {
	if r.Error == "" && len(r.Survivors) == 0 {
		return ""
	}
	words := cmp.Or(Reason(r.Error), "not stopped")
	if len(r.Survivors) > 0 {
		words += "; still running: " + strings.Trim(fmt.Sprint(r.Survivors), "[]")
	}
	return words
}

// Providers returns a table of runtime providers.
func (s Formatter) Providers(providers []client.Provider) string {
	t := &textfmt.Table{Heads: []string{"PROVIDER", "", "VERSION", "DESCRIPTION", "CAPABILITIES"}}
	for _, p := range providers {
		mark := ""
		if p.Default {
			mark = "default"
		}
		last := textfmt.Painted(strings.Join(append(append([]string{}, p.Capabilities...), p.Extensions...), " "), textfmt.Faint)
		if p.Problem != "" {
			last = textfmt.Painted(p.Problem, textfmt.Red)
		}
		t.Add(textfmt.Painted(p.Name, textfmt.Bold), textfmt.Painted(mark, textfmt.Green), textfmt.Cell{Text: p.Version}, textfmt.Cell{Text: p.Summary}, last)
	}
	return s.Table(t)
}

// Config returns a table of all keys with their values and sources.
func (s Formatter) Config(config client.Config) string {
	t := &textfmt.Table{Heads: []string{"KEY", "VALUE", "FROM"}}
	here := filepath.Dir(config.Path) + string(filepath.Separator)
	for _, v := range config.Values {
		t.Add(textfmt.Painted(v.Key, textfmt.Bold), textfmt.Cell{Text: v.Value}, textfmt.Painted(strings.TrimPrefix(v.Origin, here), textfmt.Faint))
	}
	return s.Table(t)
}
