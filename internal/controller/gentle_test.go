package controller

import (
	"errors"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
)

// TestAFailedRelaunchKeepsTheOthersRunning: a changed configuration with which no agent becomes ready is tried with a few agents at a
// time, and the others keep running with the previous one.
func TestAFailedRelaunchKeepsTheOthersRunning(t *testing.T) {
	inTestCity(t, names(12), func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) {
			for i := range d.Sessions {
				d.Sessions[i].Config.Nudge = "go"
			}
		})
		w.start()
		w.advance(time.Minute)
		w.provider.set(func(f *testProvider) { f.onRelaunch = func() error { return errors.New("it never became ready") } })
		w.provider.set(func(f *testProvider) {
			f.onCommand = func(string) error { return errors.New("it never becomes ready") }
		})
		w.edit(func(d *plan.Desired) {
			for i := range d.Sessions {
				d.Sessions[i].Config.Command += " again"
			}
		})
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(10 * time.Minute)
		status, _ := w.c.Status(t.Context())
		down := 0
		for _, a := range status.Agents {
			if a.State != client.StateRunning {
				down++
			}
		}
		if down == 0 || down > 3 {
			t.Errorf("%d of 12 agents do not run, want at most 3: %v", down, w.provider)
		}
	})
}
