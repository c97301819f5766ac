package controller

import (
	"slices"
	"testing"
	"time"

	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// TestHintsOfAnotherProgramWait: changed hints reach an agent that runs. Those that come with a
// change of its command do not: while it is busy, it is the program of before.
func TestHintsOfAnotherProgramWait(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy)
		change := func(do func(*runtime.Config)) {
			t.Helper()
			w.edit(func(d *plan.Desired) { do(&d.Sessions[0].Config) })
			if err := w.reload(); err != nil {
				t.Fatal(err)
			}
			w.after(10 * time.Second)
		}
		change(func(c *runtime.Config) { c.ProcessNames = []string{"one"} })
		if got := w.fake.hintsOf("gc-town-a").ProcessNames; !slices.Equal(got, []string{"one"}) {
			t.Errorf("the agent that runs has the hints %q", got)
		}
		before := w.fake.lives()["gc-town-a"]
		change(func(c *runtime.Config) { c.Command, c.ProcessNames = "run another", []string{"node"} })
		if got := w.fake.hintsOf("gc-town-a").ProcessNames; !slices.Equal(got, []string{"one"}) || w.fake.lives()["gc-town-a"] != before {
			t.Errorf("the busy agent has the hints %q of the next program, or was started again", got)
		}
	})
}
