package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// soakAgent is one agent of the stress test.
type soakAgent struct {
	member
	place string // the provider that it runs on; empty: that of a city that names none
	mute  bool   // its provider does not know whether a prompt was accepted
	sat   bool   // a person types at its terminal
}

// onTerminals are all faults of agents in a terminal.
var onTerminals = []soakAgent{
	{member: member{name: "good"}},
	{member: member{name: "reports", flags: "--osc7501"}},
	{member: member{name: "deaf-once", flags: "--ignore-first-enter"}},
	{member: member{name: "newline", flags: "--newline-within 60ms"}},
	{member: member{name: "slow", flags: "--think 300ms --slow-start 2s --ignore-input-until-ready"}},
	{member: member{name: "asks", flags: "--osc7501"}},
	{member: member{name: "dies"}},
	{member: member{name: "shared"}, sat: true},
}

// onPipes are agents without a terminal.
var onPipes = []soakAgent{
	{member: member{name: "good", flags: "--plain --framed"}},
	{member: member{name: "slow", flags: "--plain --framed --think 300ms"}},
	{member: member{name: "dies", flags: "--plain --framed"}},
}

// soakAgents returns the agents of the stress test: every fault once on each provider that GC_E2E_PROVIDERS
// lists, as in "pty,subprocess,tmux,exec:/path/script"; without it on the default provider. Outcomes that a
// script reports are not checked, and no person types there.
func soakAgents() []soakAgent {
	var agents []soakAgent
	for n, place := range strings.Split(os.Getenv("GC_E2E_PROVIDERS"), ",") {
		place = strings.TrimSpace(place)
		pipes, script := place == "subprocess", strings.HasPrefix(place, "exec:")
		kinds := onTerminals
		if pipes {
			kinds = onPipes
		}
		for _, s := range slices.Clone(kinds) {
			if n > 0 {
				s.name += fmt.Sprint("-", n+1)
			}
			s.place, s.mute, s.sat = place, pipes || script, s.sat && !script
			if place != "" {
				s.toml += fmt.Sprintf("session = %q\n", place)
			}
			if pipes {
				s.toml += "env = { GC_STDIN = \"framed\" }\n"
				s.ready = "fakeagent ready"
			}
			agents = append(agents, s)
		}
	}
	return agents
}

// is reports whether the agent is the one of its provider with the fault.
func (s soakAgent) is(fault string) bool {
	return s.name == fault || strings.HasPrefix(s.name, fault+"-")
}

func membersOf(agents []soakAgent) []member {
	var out []member
	for _, s := range agents {
		out = append(out, s.member)
	}
	return out
}
