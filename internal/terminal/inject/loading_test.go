package inject

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
	"gascity/test/terminal"
)

// A text that a program loses while it loads is not said to be taken: it is withdrawn, and
// the next attempt brings it. While it loads, no attempt begins.
func TestATextIsLostWhileTheProgramLoads(t *testing.T) {
	loading, err := agentcli.NewPattern("^Resuming session")
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range []string{"rules", "open"} {
		t.Run(style, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := terminal.NewAgent(terminal.Face{Style: style, Reloads: time.Millisecond, Echo: 10 * time.Millisecond, Think: 2 * time.Second})
				rules := a.Rules(t)
				rules.Screen.Loading = []agentcli.Pattern{loading}
				rules.Screen.Busy = append(rules.Screen.Busy, loading)
				f := &fileLease{Fake: a.T, account: new(string), steps: -1}
				out, err := Deliver(t.Context(), f, "1", Prompt{Text: "hello there"}, rules)
				if err != nil || out.State != runtime.OutcomeRefused || out.Reason != runtime.RefusedWithdrawn {
					t.Errorf("%+v, %v", out, err)
				}
				if out, err = Deliver(t.Context(), f, "2", Prompt{Text: "hello there"}, rules); err != nil || out.State != runtime.OutcomeSubmitted {
					t.Errorf("again: %+v, %v", out, err)
				}
				synctest.Wait()
				if got := a.Prompts(); !slices.Equal(got, []string{"hello there"}) {
					t.Errorf("it took %q", got)
				}
				a.T.Print("\x1b[25;1HResuming session...")
				if out, err = Deliver(t.Context(), f, "3", Prompt{Text: "more"}, rules); err != nil || out.Reason != runtime.RefusedUnready {
					t.Errorf("while it loads: %+v, %v", out, err)
				}
			})
		})
	}
}

// Where the program begins to load behind Enter, and loses both, the empty line is no sign
// that the text was taken.
func TestATextIsLostBehindEnter(t *testing.T) {
	loading, err := agentcli.NewPattern("^Resuming session")
	if err != nil {
		t.Fatal(err)
	}
	for _, style := range []string{"rules", "open"} {
		t.Run(style, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := terminal.NewAgent(terminal.Face{Style: style, Reloads: 200 * time.Millisecond, Think: time.Second, DropEnters: maxEnter})
				rules := a.Rules(t)
				rules.Screen.Loading = []agentcli.Pattern{loading}
				f := &fileLease{Fake: a.T, account: new(string), steps: -1}
				out, err := Deliver(t.Context(), f, "1", Prompt{Text: "hello there"}, rules)
				if err != nil || out.State != runtime.OutcomeUnconfirmed {
					t.Errorf("%+v, %v", out, err)
				}
				synctest.Wait()
				if got := a.Prompts(); len(got) > 0 {
					t.Errorf("it took %q", got)
				}
			})
		})
	}
}
