package page

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
		t.Add(text.Cell{Text: r.Agent}, text.Cell{Text: r.Session}, text.Cell{Text: fmt.Sprint(r.Processes)}, text.Cell{Text: fmt.Sprintf("%.1fs", r.Seconds)}, result)
	}
	return s.Table(t)
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
