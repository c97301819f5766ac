package agents

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gascity/internal/agentcli"
	"gascity/runtime"
	"gascity/test/agents/bed"
)

// TestPermissionModesByACPOfRealAgents proves that each agent that speaks the Agent Client Protocol
// starts in each session mode that the profile of its agent CLI names, and that a mode which it does
// not have ends the start with an error that lists those it has.
func TestPermissionModesByACPOfRealAgents(t *testing.T) {
	together(t)
	family := map[string]string{"codex-acp": "codex", "claude-agent-acp": "claude", "gemini": "gemini"}
	flags := map[string][]string{"gemini": {"--acp", "-m", "gemini-2.5-flash"}}
	names := driven(slices.Sorted(maps.Keys(family))...)
	if len(names) == 0 {
		t.Skip("no agent of this protocol is asked for by GC_TEST_AGENTS")
	}
	program, err := bed.Program()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			together(t)
			s := openSpeaker(t, program, name, flags[name]...)
			start := func(mode string) error {
				if err := s.Stop("one"); err != nil {
					t.Fatal(err)
				}
				env := maps.Clone(s.seat.Env)
				env[runtime.VariableMode] = mode
				return s.Start(t.Context(), "one", runtime.Config{
					Command: "exec " + strings.Join(append([]string{s.found.Path}, flags[name]...), " "), WorkDir: s.seat.Work, Env: env, ReadyPromptPrefix: ">",
				})
			}
			profile, _ := agentcli.Builtin().Lookup(family[name])
			for _, mode := range slices.Compact(slices.Sorted(maps.Values(profile.ACPModes))) {
				if err := start(mode); err != nil {
					t.Errorf("in the mode %s: %v", mode, err)
					continue
				}
				if r, err := s.Sense(t.Context(), "one"); err != nil || r.Conversation == nil || r.Conversation.Mode != mode {
					t.Errorf("the agent is in %+v, %v; want the mode %s", r.Conversation, err, mode)
				}
			}
			if err := start("nosuch"); err == nil || !strings.Contains(err.Error(), `no mode "nosuch"; it has: `) {
				t.Errorf("in a mode that it does not have: %v", err)
			}
		})
	}
}
