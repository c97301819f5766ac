package screen_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/test/terminal"
)

func TestIdleWaitsForTheEndOfTheTurn(t *testing.T) {
	for _, style := range []string{"rules", "line"} {
		synctest.Test(t, func(t *testing.T) {
			f := terminal.Face{Style: style, Think: 3 * time.Second, Spinner: true, Titles: style == "rules"}
			agent, rules := terminal.NewAgent(f), f.Rules(t)
			if style == "line" {
				agent.Style = "rules" // has a busy mark
				rules.Screen.InputBox.Marks = []string{"❯ "}
			}
			agent.Text("work", false)
			agent.Feed([]byte("\r"))
			began := time.Now()
			err := screen.Idle(t.Context(), agent.T, rules, time.Minute)
			if took := time.Since(began); err != nil || took < 3*time.Second || took > 3500*time.Millisecond {
				t.Errorf("%s: %v after %s, want idle just after 3s", style, err, took)
			}
		})
	}
}

func TestIdleEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules", Dialog: terminal.Trust}
		agent := terminal.NewAgent(f)
		agent.ShowDialog()
		err := screen.Idle(t.Context(), agent.T, f.Rules(t), 5*time.Second)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "trust") {
			t.Errorf("%v, want the deadline and what is up", err)
		}
		time.AfterFunc(time.Second, func() { agent.T.Set(func(f *screen.Frame) { f.Exited = true }) })
		if err := screen.Idle(t.Context(), agent.T, f.Rules(t), 5*time.Second); !errors.Is(err, screen.ErrExited) {
			t.Errorf("%v, want console.ErrExited", err)
		}
	})
}
