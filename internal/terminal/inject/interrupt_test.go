package inject

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
	"gascity/test/terminal"
)

func TestInterrupt(t *testing.T) {
	tests := map[string]struct {
		restore string
		draft   string
		human   bool
		want    string
	}{
		"nothing comes back":    {"", "", false, "\x1b"},
		"the prompt comes back": {"our prompt", "", false, "\x1b\x15"},
		"a draft stays":         {"our prompt", "half", false, "\x1b"},
		"a person types":        {"", "", true, "\x1b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := terminal.Face{Style: "rules"}
				agent := terminal.NewAgent(f)
				if test.draft != "" {
					agent.Text(test.draft, false)
				}
				time.AfterFunc(100*time.Millisecond, func() {
					if test.restore != "" {
						agent.Text(test.restore, false)
					}
					if test.human {
						agent.T.Human("x")
					}
				})
				if err := Interrupt(t.Context(), newFakeLease(agent.T), f.Rules(t)); err != nil {
					t.Fatal(err)
				}
				if got := agent.T.Input(); got != test.want {
					t.Errorf("sent %q, want %q", got, test.want)
				}
				time.Sleep(time.Second)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		agent := terminal.NewAgent(terminal.Face{Style: "plain"})
		if err := Interrupt(t.Context(), newFakeLease(agent.T), screen.Rules{}); err != nil || agent.T.Input() != "\x03" {
			t.Errorf("%v, sent %q, want C-c", err, agent.T.Input())
		}
	})
}

// A program that is slow shows its turn for a while behind the keys: the prompt that comes
// back with its end is taken out all the same.
func TestAPromptThatComesBackToASlowProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules", Think: 3 * time.Second}
		agent := terminal.NewAgent(f)
		d := newFakeLease(agent.T)
		if out, err := Deliver(t.Context(), d, "1", Prompt{Text: "first prompt"}, f.Rules(t)); err != nil || out.State != runtime.OutcomeSubmitted {
			t.Fatalf("%+v, %v", out, err)
		}
		time.AfterFunc(f.Think-time.Millisecond, func() { agent.Text("first prompt", false) })
		if err := Interrupt(t.Context(), d, f.Rules(t)); err != nil {
			t.Fatal(err)
		}
		if sent := agent.T.Input(); !strings.HasSuffix(sent, "\x1b\x15") {
			t.Errorf("sent %q", sent)
		}
		time.Sleep(5 * time.Second)
	})
}

// TestAPromptThatComesBackLate: it is taken out before the next prompt, but never what a
// person may have typed.
func TestAPromptThatComesBackLate(t *testing.T) {
	for name, human := range map[string]bool{"no typing": false, "a person types": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := terminal.Face{Style: "rules"}
				agent := terminal.NewAgent(f)
				d := newFakeLease(agent.T)
				out, err := Deliver(t.Context(), d, "1", Prompt{Text: "first prompt"}, f.Rules(t))
				if err != nil || out.State != runtime.OutcomeSubmitted {
					t.Fatalf("%+v, %v", out, err)
				}
				if err := Interrupt(t.Context(), d, f.Rules(t)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if human {
					d.person("mine")
				} else {
					agent.Text("first prompt", false)
				}
				time.Sleep(5 * time.Second)
				out, err = Deliver(t.Context(), d, "2", Prompt{Text: "second"}, f.Rules(t))
				want := []string{"first prompt", "second"}
				if human {
					want = want[:1]
				}
				if err != nil || (out.Reason == runtime.RefusedDraft) != human {
					t.Errorf("%+v, %v", out, err)
				}
				if got := agent.Prompts(); !slices.Equal(got, want) {
					t.Errorf("the agent took %q, want %q", got, want)
				}
			})
		})
	}
}
