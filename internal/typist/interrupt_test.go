package typist

import (
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/console"
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
				if err := Interrupt(t.Context(), newDesk(agent.T), f.Rules(t)); err != nil {
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
		if err := Interrupt(t.Context(), newDesk(agent.T), console.Rules{}); err != nil || agent.T.Input() != "\x03" {
			t.Errorf("%v, sent %q, want C-c", err, agent.T.Input())
		}
	})
}
