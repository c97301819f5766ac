package doctor

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"gascity/internal/citydir"
	"gascity/internal/cleanup"
	"gascity/internal/proc"
	"gascity/provider/all"
	"gascity/runtime"
)

// leftovers checks for sessions that the configuration does not want, and for processes of the
// city's agents that belong to no session.
func (x *examination) leftovers() {
	if x.control {
		x.strays()
		return // the controller handles the rest
	}
	if x.r.City == nil {
		return
	}
	wanted := map[string]bool{}
	for _, s := range x.r.Desired.Sessions {
		wanted[s.Name] = !s.Suspended
	}
	var found []string
	tokens := map[string]bool{}
	for _, selection := range x.providersToCheck() {
		for name, token := range x.sessions(selection) {
			tokens[token] = true
			if !wanted[name] {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	if len(found) > 0 {
		x.problem("sessions", "these sessions run but are not configured: "+strings.Join(found, ", "), "stop them with: gc start; stop everything with: gc stop")
	}
	orphans := cleanup.Orphans(x.root, tokens)
	if len(orphans) > 0 {
		x.problem("processes", fmt.Sprintf("these processes of previous agents run without a session: %v", orphans), "look at them with ps; stop them with kill")
	}
	if len(found)+len(orphans) == 0 {
		x.ok("sessions", "there are no leftover sessions or processes")
	}
}

// strays reports agents that run although no provider has a session for them. Their state directory
// and their shim are gone.
func (x *examination) strays() {
	live, err := proc.AgentProcesses(x.root)
	if err != nil || len(live) == 0 {
		return
	}
	known := map[string]bool{}
	for _, selection := range x.providersToCheck() {
		sessions := x.sessions(selection)
		if sessions == nil {
			return // the sessions are unknown
		}
		for name := range sessions {
			known[name] = true
		}
	}
	var strays []int
	for _, p := range live {
		if now, err := proc.Alive(p.ID); !known[p.Session] && now && err == nil {
			strays = append(strays, p.PID)
		}
	}
	if len(strays) > 0 {
		x.problem("processes", fmt.Sprintf("these processes of agents run and belong to no session: %v", strays), "look at them with ps; stop them with kill, or with gc stop")
	}
}

// providersToCheck returns the providers that the city selects or has used before.
func (x *examination) providersToCheck() []string {
	used, err := citydir.UsedProviders(x.root)
	if err != nil {
		x.warn("sessions", err.Error(), "make .gc readable for this user")
	}
	places := slices.Concat(x.selected, used)
	slices.Sort(places)
	return slices.Compact(places)
}

// sessions returns the instance tokens of the sessions of a provider, by session name; nil if the
// provider cannot be opened.
func (x *examination) sessions(selection string) map[string]string {
	tokens := map[string]string{}
	p, err := x.Loader.Open(x.root, selection, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil // the finding about the provider reports it
	}
	names, err := p.ListRunning("")
	if err != nil {
		x.problem("sessions", fmt.Sprintf("cannot list the sessions of %s: %v", selection, err), "look at .gc/log")
	}
	for _, name := range names {
		tokens[name] = ""
		if obs, err := runtime.Observe(x.ctx, p, name); err == nil {
			tokens[name] = obs.InstanceToken
		}
	}
	if err := all.Close(p); err != nil {
		x.warn("sessions", err.Error(), "")
	}
	return tokens
}
