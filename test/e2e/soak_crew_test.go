package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// soaker is one agent of the soak.
type soaker struct {
	member
	place string // the provider that it runs on; empty: that of a city that names none
	mute  bool   // its provider does not know whether a prompt was accepted
	sat   bool   // a person sits at its terminal
}

// onTerminals is every misbehaviour that a prompt may meet at a terminal.
var onTerminals = []soaker{
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
var onPipes = []soaker{
	{member: member{name: "good", flags: "--plain --framed"}},
	{member: member{name: "slow", flags: "--plain --framed --think 300ms"}},
	{member: member{name: "dies", flags: "--plain --framed"}},
}

// The crew of the soak: every fault once on each provider that GC_E2E_PROVIDERS
// lists, as in "pty,subprocess,tmux,exec:/path/script"; without it on the one that a
// city has by itself. A script's word is not relied on: it is not known to report
// anything, and no person sits there.
func soakCrew() []soaker {
	var crew []soaker
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
			crew = append(crew, s)
		}
	}
	return crew
}

// is reports whether the agent is the one of its provider with the fault.
func (s soaker) is(fault string) bool { return s.name == fault || strings.HasPrefix(s.name, fault+"-") }

func members(crew []soaker) []member {
	var out []member
	for _, s := range crew {
		out = append(out, s.member)
	}
	return out
}
