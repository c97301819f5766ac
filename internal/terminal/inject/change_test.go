package inject

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"gascity/internal/agentcli"
	"gascity/runtime"
	"gascity/test/terminal"
)

// TestATextThatWouldBeChangedIsNotTyped: a text whose meaning the input box may change is
// refused before its first byte unless the sender allows it; what no reader sees is sent. Both
// times the outcome lists the changes.
func TestATextThatWouldBeChangedIsNotTyped(t *testing.T) {
	tests := map[string]struct {
		text    string
		allow   bool
		refused bool
		changes []string
	}{
		"as it is":       {"words", false, false, nil},
		"not seen":       {"words\r\nmore\n", false, false, []string{"CR and CR LF become line feeds", "blanks and line feeds at the end are removed"}},
		"removed":        {"wo\u200brds", false, true, nil},
		"removed, allow": {"wo\u200brds", true, false, []string{"characters are removed: U+200B"}},
		"swallowed":      {`words \`, false, true, nil},
		"exits":          {"exit\n", false, true, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				face := terminal.Face{Style: "rules"}
				agent, rules := terminal.NewAgent(face), face.Rules(t)
				p, _ := agentcli.Builtin().Lookup("claude")
				rules.Screen.Input = p.Screen.Input
				got, err := Type(t.Context(), agent.T, Prompt{Text: test.text, AllowChanges: test.allow}, rules)
				if err != nil {
					t.Fatal(err)
				}
				if refused := got.State == runtime.OutcomeRefused; refused != test.refused || refused && got.Reason != runtime.RefusedChanged {
					t.Errorf("the outcome is %+v", got)
				}
				if !slices.Equal(got.Changes, test.changes) {
					t.Errorf("the outcome lists %q, want %q", got.Changes, test.changes)
				}
				if sent := strings.Join(agent.Prompts(), ""); test.refused != (sent == "") {
					t.Errorf("the agent got %q", sent)
				}
			})
		})
	}
}

// TestAHiddenShellCommandIsNotTyped: a text that is a shell command without the characters that the
// input box removes is refused, also if its sender allows changes, and so is a text that would leave
// nothing or a line feed.
func TestAHiddenShellCommandIsNotTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		face := terminal.Face{Style: "rules"}
		agent, rules := terminal.NewAgent(face), face.Rules(t)
		p, _ := agentcli.Builtin().Lookup("claude")
		rules.Screen.Input, rules.Screen.Shell, rules.Screen.ShellGuard = p.Screen.Input, p.Screen.Shell, p.Screen.ShellGuard
		for _, text := range []string{"\u200b!ls", "\u00ad \u200b !ls", "\u200e\u00ad!", "\\", " \\\\\n", "/", "exit"} {
			got, err := Type(t.Context(), agent.T, Prompt{Text: text, AllowChanges: true}, rules)
			if err != nil || got.State != runtime.OutcomeRefused || got.Reason != runtime.RefusedContent {
				t.Errorf("%q: the outcome is %+v, %v", text, got, err)
			}
		}
		if sent := agent.Prompts(); len(sent) != 0 {
			t.Errorf("the agent got %q", sent)
		}
	})
}

// TestAHiddenCommandIsNoPrompt: the outcome of a text that is a command without the characters that
// the input box removes says so.
func TestAHiddenCommandIsNoPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		face := terminal.Face{Style: "rules"}
		agent, rules := terminal.NewAgent(face), face.Rules(t)
		p, _ := agentcli.Builtin().Lookup("claude")
		rules.Screen.Input, rules.Screen.Command = p.Screen.Input, p.Screen.Command
		got, err := Type(t.Context(), agent.T, Prompt{Text: "\ufeff/nope", AllowChanges: true}, rules)
		if err != nil || !strings.HasSuffix(got.Evidence, "+"+signCommand) {
			t.Errorf("the outcome is %+v, %v", got, err)
		}
	})
}
