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
	"gascity/internal/store/storetest"
	"gascity/runtime"
)

// TestExplainHoldsTheRoot is R15 as far as the controller goes: each fault's root
// string is in the explanation.
func TestExplainHoldsTheRoot(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault func(w *fakeCity, store *storetest.Faulty)
		roots []string
	}{
		{"missing binary", func(w *fakeCity, _ *storetest.Faulty) {
			w.fails(&runtime.StartupDeath{Exit: runtime.Exit{Code: 127}, Output: "first line\nsh: 1: claud: not found\nlast line"})
		}, []string{"claud: not found", "code 127"}},
		{"crash", func(w *fakeCity, _ *storetest.Faulty) {
			w.fake.onPeek = "Traceback\nKeyError: 'MODEL'"
			w.fake.end("gc-town-a", 1)
		}, []string{"KeyError: 'MODEL'", "exited with code 1"}},
		{"lost server", func(w *fakeCity, _ *storetest.Faulty) {
			w.fake.set(func(f *fake) { f.cause = "its server (process 7) ended" })
			w.fake.vanish("gc-town-a")
		}, []string{"instance 1: its server (process 7) ended"}},
		{"quarantine", func(w *fakeCity, _ *storetest.Faulty) {
			w.settings.MaxRestarts = 2
			_ = w.reload()
			w.fails(&runtime.StartupDeath{Exit: runtime.Exit{Code: 3}, Output: "port 8080 is in use"})
		}, []string{"port 8080 is in use", "quarantined", "failures within"}},
		{"provider", func(w *fakeCity, _ *storetest.Faulty) { w.fake.set(func(f *fake) { f.down = errDown }) }, []string{"no answer"}},
		{"store", func(w *fakeCity, store *storetest.Faulty) {
			store.Set(storetest.Fails)
			w.fake.end("gc-town-a", 9)
		}, []string{"broken by the test", "frozen"}},
		{"configuration", func(w *fakeCity, _ *storetest.Faulty) {
			w.loadErr = context.Canceled
			_ = w.reload()
		}, []string{"canceled"}},
		{"dependency", func(w *fakeCity, _ *storetest.Faulty) {
			w.edit(func(d *plan.Desired) { d.Sessions[0].DependsOn = []string{"b"} })
			_ = w.reload()
			w.fails(&runtime.StartupDeath{Exit: runtime.Exit{Code: 3}})
			w.fake.end("gc-town-b", 1)
		}, []string{"waits for b"}},
		{"suspended", func(w *fakeCity, _ *storetest.Faulty) {
			_, _ = w.c.Suspend(w.t.Context(), "a", client.LifecycleRequest{Reason: "tokens are out"})
		}, []string{"tokens are out", "suspend"}},
		{"another city's", func(w *fakeCity, _ *storetest.Faulty) {
			w.fake.set(func(f *fake) {
				f.sessions["gc-town-a"].token, f.sessions["gc-town-a"].meta[ops.MetaCity] = "other", "/other"
				f.emit(runtime.Event{Kind: runtime.EventStarted, Session: "gc-town-a"})
			})
		}, []string{"another city"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
				store := w.breakable()
				w.begin()
				row.fault(w, store)
				w.after(2 * time.Minute)
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

// fails lets every further start fail, and ends what runs.
func (w *fakeCity) fails(err error) {
	w.fake.set(func(f *fake) { f.onStart = func(context.Context, string) error { return err } })
	w.fake.end("gc-town-a", 1)
}

func TestEvidenceIsExplainedWithItsUse(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy, func(r *runtime.Reading) {
			r.Evidence = append(r.Evidence, runtime.Evidence{Source: runtime.SourceStatus, Activity: runtime.ActivityIdle, Detail: "status done"})
		})
		w.after(time.Second)
		x, err := w.c.Explain(t.Context(), "a")
		if err != nil || len(x.Evidence) != 2 || x.Evidence[0].Source != "osc7501" || !x.Evidence[0].Used || x.Evidence[1].Used || x.Evidence[1].ReadAt.IsZero() {
			t.Errorf("the evidence is %+v, %v; want the status used and the screen beside it", x.Evidence, err)
		}
	})
}
