package render

import (
	"fmt"
	"path/filepath"
	"strings"

	"gascity/client"
	"gascity/internal/text"
)

// Census is what a stop found and ended.
func (s Sheet) Census(census client.Census) string {
	t := &text.Table{Heads: []string{"AGENT", "SESSION", "PROCESSES", "TOOK", "RESULT"}}
	for _, r := range census.Sessions {
		result := text.Painted("ended", text.Green)
		if why := NotEnded(r); why != "" {
			result = text.Painted(why, text.Red)
		}
		t.Add(text.Cell{Text: r.Agent}, text.Cell{Text: r.Session}, text.Cell{Text: Processes(r)}, text.Cell{Text: fmt.Sprintf("%.1fs", r.Seconds)}, result)
	}
	return s.Table(t)
}

// Processes is how many processes of a session were found, or that they were not counted.
func Processes(r client.StopResult) string {
	if r.Uncounted {
		return "not counted"
	}
	return fmt.Sprint(r.Processes)
}

// Stopped sums up a stop after which nothing is known to run.
func Stopped(census client.Census) string {
	processes, uncounted := 0, 0
	for _, r := range census.Sessions {
		processes += r.Processes
		if r.Uncounted {
			uncounted++
		}
	}
	all := text.Count(len(census.Sessions), "session")
	switch {
	case uncounted == 0:
		return fmt.Sprintf("%s with %s ended, none survived", all, text.Count(processes, "process"))
	case uncounted == len(census.Sessions):
		return all + " ended; the runtime provider does not report processes, so that none were counted"
	}
	return fmt.Sprintf("%s ended; %s of %d of them ended, none of these survived; the processes of the others were not counted", all, text.Count(processes, "process"), len(census.Sessions)-uncounted)
}

// NotEnded says why a session is not ended, empty if it is.
func NotEnded(r client.StopResult) string {
	if r.Error == "" && len(r.Survivors) == 0 {
		return ""
	}
	words := text.FirstOf(Reason(r.Error), "not ended")
	if len(r.Survivors) > 0 {
		words += "; still running: " + strings.Trim(fmt.Sprint(r.Survivors), "[]")
	}
	return words
}

// Providers lists what agents can run in.
func (s Sheet) Providers(providers []client.Provider) string {
	t := &text.Table{Heads: []string{"PROVIDER", "", "VERSION", "WHAT IT IS", "CAN"}}
	for _, p := range providers {
		mark := ""
		if p.Default {
			mark = "default"
		}
		last := text.Painted(strings.Join(append(append([]string{}, p.Capabilities...), p.Extensions...), " "), text.Faint)
		if p.Problem != "" {
			last = text.Painted(p.Problem, text.Red)
		}
		t.Add(text.Painted(p.Name, text.Bold), text.Painted(mark, text.Green), text.Cell{Text: p.Version}, text.Cell{Text: p.Summary}, last)
	}
	return s.Table(t)
}

// Config lists every value and where it comes from.
func (s Sheet) Config(config client.Config) string {
	t := &text.Table{Heads: []string{"KEY", "VALUE", "FROM"}}
	here := filepath.Dir(config.Path) + string(filepath.Separator)
	for _, v := range config.Values {
		t.Add(text.Painted(v.Key, text.Bold), text.Cell{Text: v.Value}, text.Painted(strings.TrimPrefix(v.Origin, here), text.Faint))
	}
	return s.Table(t)
}
