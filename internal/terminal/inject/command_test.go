package inject

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
	"gascity/test/terminal"
)

// A command that the program does not know stays in its input box whatever Enter does: it
// is taken back, so that the next prompt comes alone. What only begins like one is a prompt.
func TestAnUnknownCommandIsTakenBack(t *testing.T) {
	unknown, err := agentcli.NewPattern("^No matching items$")
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range []string{"plain", "rules", "open", "open, which says so late", "open, which says so at Enter"} {
		face := terminal.Face{Style: style, NoCommands: true}
		if late, ok := strings.CutSuffix(style, ", which says so late"); ok {
			face.Style, face.SayLate = late, time.Second
		}
		if stays, ok := strings.CutSuffix(style, ", which says so at Enter"); ok {
			face.Style, face.SayAtEnter = stays, true
		}
		for name, test := range map[string]struct {
			text  string
			state runtime.OutcomeState
			taken []string
		}{
			"unknown": {"/nonsense", runtime.OutcomeRefused, []string{"next"}},
			"a path":  {"/tmp/a is a file", "", []string{"/tmp/a is a file", "next"}},
		} {
			t.Run(style+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := terminal.NewAgent(face)
					rules := a.Rules(t)
					rules.Screen.UnknownCommand, rules.Screen.ClearKey, rules.Screen.Command = []agentcli.Pattern{unknown}, "C-u", "/"
					f := &fileLease{Fake: a.T, account: new(string), steps: -1}
					began := time.Now()
					out, err := Deliver(t.Context(), f, "1", Prompt{Text: test.text}, rules)
					if err != nil || test.state != "" && (out.State != test.state || out.Reason != runtime.RefusedContent) {
						t.Errorf("%+v, %v", out, err)
					}
					if line := a.Line(); line != "" {
						t.Errorf("the line holds %q", line)
					}
					if took := time.Since(began); took > 2*time.Second {
						t.Errorf("it took %s", took)
					}
					if out, err := Deliver(t.Context(), f, "2", Prompt{Text: "next"}, rules); err != nil || out.State == runtime.OutcomeRefused {
						t.Errorf("the next one: %+v, %v", out, err)
					}
					synctest.Wait()
					if got := a.Prompts(); !slices.Equal(got, test.taken) {
						t.Errorf("it took %q", got)
					}
					if out, err := Deliver(t.Context(), f, "3", Prompt{Text: "/tmp/b is one, too"}, rules); err != nil || out.State == runtime.OutcomeRefused {
						t.Errorf("behind what it has said: %+v, %v", out, err)
					}
				})
			})
		}
	}
}
