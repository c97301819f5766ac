package controller

import (
	"slices"
	"testing"
	"time"

	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// TestHintsOfANewCommandWait: changed hints reach a running agent. Hints that are changed together with
// the command do not, because a busy agent still runs the old command.
func TestHintsOfANewCommandWait(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		change := func(do func(*runtime.Config)) {
			t.Helper()
			w.edit(func(d *plan.Desired) { do(&d.Sessions[0].Config) })
			if err := w.reload(); err != nil {
				t.Fatal(err)
			}
			w.advance(10 * time.Second)
		}
		change(func(c *runtime.Config) { c.ProcessNames = []string{"one"} })
		if got := w.provider.hintsOf("gc-town-a").ProcessNames; !slices.Equal(got, []string{"one"}) {
			t.Errorf("the agent that runs has the hints %q", got)
		}
		before := w.provider.lives()["gc-town-a"]
		change(func(c *runtime.Config) { c.Command, c.ProcessNames = "run another", []string{"node"} })
		if got := w.provider.hintsOf("gc-town-a").ProcessNames; !slices.Equal(got, []string{"one"}) || w.provider.lives()["gc-town-a"] != before {
			t.Errorf("the busy agent has the hints %q of the next program, or was started again", got)
		}
	})
}
