package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/runtime"
	"gascity/test/storetest"
)

// TestExplainContainsTheRootCause checks that the explanation contains the text of each fault's cause.
func TestExplainContainsTheRootCause(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault func(w *testCity, store *storetest.Faulty)
		roots []string
	}{
		{"missing binary", func(w *testCity, _ *storetest.Faulty) {
			w.failStarts(&runtime.StartupDeath{Exit: runtime.Exit{Code: 127}, Output: "first line\nsh: 1: claud: not found\nlast line"})
		}, []string{"claud: not found", "code 127"}},
		{"crash", func(w *testCity, _ *storetest.Faulty) {
			w.provider.onPeek = "Traceback\nKeyError: 'MODEL'"
			w.provider.end("gc-town-a", 1)
		}, []string{"KeyError: 'MODEL'", "exited with code 1"}},
		{"lost server", func(w *testCity, _ *storetest.Faulty) {
			w.provider.set(func(f *testProvider) { f.cause = "its server (process 7) ended" })
			w.provider.vanish("gc-town-a")
		}, []string{"instance 1: its server (process 7) ended"}},
		{"quarantine", func(w *testCity, _ *storetest.Faulty) {
			w.settings.MaxRestarts = 2
			_ = w.reload()
			w.failStarts(&runtime.StartupDeath{Exit: runtime.Exit{Code: 3}, Output: "port 8080 is in use"})
		}, []string{"port 8080 is in use", "quarantined", "failures within"}},
		{"provider", func(w *testCity, _ *storetest.Faulty) { w.provider.set(func(f *testProvider) { f.down = errDown }) }, []string{"no answer"}},
		{"store", func(w *testCity, store *storetest.Faulty) {
			store.Set(storetest.Fails)
			w.provider.end("gc-town-a", 9)
		}, []string{"broken by the test", "frozen"}},
		{"configuration", func(w *testCity, _ *storetest.Faulty) {
			w.loadErr = context.Canceled
			_ = w.reload()
		}, []string{"canceled"}},
		{"dependency", func(w *testCity, _ *storetest.Faulty) {
			w.edit(func(d *plan.Desired) { d.Sessions[0].DependsOn = []string{"b"} })
			_ = w.reload()
			w.failStarts(&runtime.StartupDeath{Exit: runtime.Exit{Code: 3}})
			w.provider.end("gc-town-b", 1)
		}, []string{"waits for b"}},
		{"suspended", func(w *testCity, _ *storetest.Faulty) {
			_, _ = w.c.Suspend(w.t.Context(), "a", client.LifecycleRequest{Reason: "tokens are out"})
		}, []string{"tokens are out", "suspend"}},
		{"another city's", func(w *testCity, _ *storetest.Faulty) {
			w.provider.set(func(f *testProvider) {
				f.sessions["gc-town-a"].token = "other"
				_ = f.Provider.SetMeta("gc-town-a", ops.MetaCity, "/other") // the session exists
				f.emit(runtime.Event{Kind: runtime.EventStarted, Session: "gc-town-a"})
			})
		}, []string{"another city"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
				store := w.useFaultyStore()
				w.start()
				row.fault(w, store)
				w.advance(2 * time.Minute)
				x, err := w.c.Explain(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				var text []string
				for _, f := range x.Facts {
					text = append(text, f.What+": "+f.Value)
				}
				text = append(text, x.Reason, x.Next, x.Output, x.LastScreen, x.Exit, x.Agent.State)
				for _, e := range x.Recent {
					text = append(text, e.Text+" "+e.Data["error"]+" "+e.Data["reason"]+" "+e.Data["exit"])
				}
				all := strings.Join(text, "\n")
				for _, root := range row.roots {
					if !strings.Contains(all, root) {
						t.Errorf("%q is not in the explanation:\n%s", root, all)
					}
				}
				store.Set(storetest.Works)
				if x.Decision == "" || len(x.Facts) < 6 || len(x.Recent) == 0 || len(x.Recent) > explain.RecentEvents {
					t.Errorf("the explanation is thin: %+v", x)
				}
			})
		})
	}
}

// failStarts makes every further start fail, and makes the running agent exit.
func (w *testCity) failStarts(err error) {
	w.provider.set(func(f *testProvider) { f.onStart = func(context.Context, string) error { return err } })
	w.provider.end("gc-town-a", 1)
}

func TestExplainListsSignals(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy, func(r *runtime.Reading) {
			r.Evidence = append(r.Evidence, runtime.Evidence{Source: runtime.SourceStatus, Activity: runtime.ActivityIdle, Detail: "status done"})
		})
		w.advance(time.Second)
		x, err := w.c.Explain(t.Context(), "a")
		if err != nil || len(x.Evidence) != 2 || x.Evidence[0].Source != "osc7501" || !x.Evidence[0].Used || x.Evidence[1].Used || x.Evidence[1].ReadAt.IsZero() {
			t.Errorf("the evidence is %+v, %v; want the status used and the screen beside it", x.Evidence, err)
		}
	})
}
