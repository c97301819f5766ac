package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

func TestConfiguredAgentsAreStartedOnce(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.fake.deaf = true
		w.begin()
		w.want("a", client.StateRunning)
		w.want("b", client.StateRunning)
		w.after(10 * time.Minute)
		if got := w.fake.starts(); len(got) != 2 {
			t.Errorf("started %v, want each agent once", got)
		}
		want := []string{"session.starting", "session.started"}
		if got := w.kinds("gc-town-a"); !slices.Equal(got, want) {
			t.Errorf("events of a are %v, want %v", got, want)
		}
	})
}

func TestAnotherControllerAdoptsWhatRuns(t *testing.T) {
	inFakeCity(t, names(20), func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		for range 5 {
			w.end()
			w.after(time.Second)
			w.records = &countingStore{} // nothing remembered but what the sessions carry
			w.begin()
			w.want("a007", client.StateRunning)
		}
		if diff := cmp.Diff(before, w.fake.lives()); diff != "" || len(before) != 20 {
			t.Errorf("five controllers later other instances run (-before +after):\n%s", diff)
		}
		if got := w.fake.starts(); len(got) != 20 {
			t.Errorf("%d starts, want 20", len(got))
		}
	})
}

func TestFingerprintsOutliveTheController(t *testing.T) {
	inFakeCity(t, []string{"same", "changed"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.end()
		w.edit(func(d *plan.Desired) { d.Sessions[1].Config.WorkDir = "/elsewhere" })
		w.records = &countingStore{}
		before := w.fake.lives()
		w.begin()
		w.after(time.Second)
		after := w.fake.lives()
		if before["gc-town-same"] != after["gc-town-same"] || before["gc-town-changed"] == after["gc-town-changed"] {
			t.Errorf("instances were %v and are %v; want only the changed one replaced", before, after)
		}
	})
}

func TestACrashIsNoticedAtOnceAndHealed(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.after(time.Minute)
		w.fake.end("gc-town-a", 7)
		synctest.Wait()
		a := w.agent("a")
		if a.State != client.StateFailed || !strings.Contains(a.Reason, "exited with code 7") || a.Exit != "exited with code 7" || time.Until(a.NextAt) != time.Second {
			t.Errorf("right after the crash: %+v; want failed, the exit code, and a start in 1s", a)
		}
		w.after(2 * time.Second)
		w.want("a", client.StateRunning)
		if a := w.agent("a"); a.Restarts != 1 || a.Exit != "" {
			t.Errorf("after the restart: %+v; want one restart and no exit", a)
		}
	})
}

// TestTheReasonHoldsTheAgentsLastWords also checks the order of the events: an
// agent that is dead when its start returns was started first.
func TestTheReasonHoldsTheAgentsLastWords(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.deaf = true
		w.begin()
		w.fake.end("gc-town-a", 7)
		synctest.Wait()
		if a := w.agent("a"); a.Reason != "the agent exited with code 7, saying: screen of gc-town-a" {
			t.Errorf("the reason is %q, want the last words in it", a.Reason)
		}
		w.fake.set(func(f *fake) { f.shortLived = true })
		w.after(2 * time.Second)
		if got, want := w.kinds("gc-town-a"), []string{
			"session.starting", "session.started", "session.exited",
			"session.starting", "session.started", "session.exited",
		}; !slices.Equal(got, want) {
			t.Errorf("reported %v, want %v", got, want)
		}
	})
}

func TestLastWords(t *testing.T) {
	for screen, want := range map[string]string{
		"": "", " \n\n": "", "one": "one", "one\n  two \r\n\n": "two",
		strings.Repeat("ü", 300): strings.Repeat("ü", 100) + "…",
	} {
		if got := ops.LastOutput(screen); got != want {
			t.Errorf("the last words of %q are %q, want %q", screen, got, want)
		}
	}
}

// TestAnEditEndsTheBackoff: what failed is not what would be started now.
func TestAnEditEndsTheBackoff(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.settings = Settings{MaxRestarts: 2, RestartWindow: time.Hour}
		w.fake.onStart = func(context.Context, string) error { return errors.New("no such program") }
		w.begin()
		w.after(time.Minute)
		w.want("a", client.StateQuarantined)
		w.want("b", client.StateQuarantined)
		w.fake.set(func(f *fake) { f.onStart = nil })
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Command = "another program" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		w.want("a", client.StateRunning)
		w.want("b", client.StateQuarantined) // it was not touched
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		w.want("b", client.StateQuarantined)
	})
}

func TestHowAnAgentEndedIsWaitedFor(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.fake.set(func(f *fake) { f.late = 3 })
		w.fake.end("gc-town-a", 9)
		w.after(200 * time.Millisecond)
		if a := w.agent("a"); a.State != client.StateFailed || a.Exit != "exited with code 9" {
			t.Errorf("got %+v, want the exit code although it came late", a)
		}
		w.after(2 * time.Second)
		w.want("a", client.StateRunning)
		w.fake.set(func(f *fake) { f.late = 1000 })
		w.fake.end("gc-town-a", 9)
		w.after(2 * time.Second)
		if a := w.agent("a"); a.State != client.StateFailed || !strings.Contains(a.Reason, "its exit status is unknown") {
			t.Errorf("got %+v, want a failure without an exit code", a)
		}
	})
}

func TestAnAgentWithoutItsSessionIsNotDoubled(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.fake.set(func(f *fake) {
			for name, s := range f.sessions {
				f.orphans[name] = s.token
				delete(f.sessions, name)
				f.emit(runtime.Event{Kind: runtime.EventGone, Session: name})
			}
		})
		w.after(time.Hour)
		w.want("a", client.StateLost)
		if got := w.fake.number("start"); got != 2 {
			t.Errorf("%d starts while the previous agents may still work, want the first two", got)
		}
		w.fake.set(func(f *fake) { delete(f.orphans, "gc-town-a") }) // and no event reports it
		w.after(2 * time.Minute)
		w.want("a", client.StateRunning)
		if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"b"}}); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		w.want("b", client.StateRunning)
		if len(w.fake.orphans) > 0 {
			t.Error("the restart left the orphan running")
		}
	})
}

func TestALostEventCostsAtMostOnePatrol(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.after(time.Hour)
		w.fake.vanish("gc-town-a")
		w.after(31 * time.Second)
		if kinds := w.kinds("gc-town-a"); !slices.Contains(kinds, "session.lost") {
			t.Errorf("events are %v, want session.lost", kinds)
		}
		w.after(2 * time.Second)
		w.want("a", client.StateRunning)
	})
}

func TestACrashLoopEndsInQuarantineWithinItsBudget(t *testing.T) {
	inFakeCity(t, []string{"a", "steady"}, func(t *testing.T, w *fakeCity) {
		w.settings = Settings{MaxRestarts: 5, RestartWindow: time.Hour}
		w.fake.onStart = func(_ context.Context, name string) error {
			if name != "gc-town-a" {
				return nil
			}
			return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: "no such model: x"}
		}
		w.begin()
		for range 59 {
			w.after(time.Minute)
		}
		failed := w.fake.number("start") - 1
		if failed < 2 || failed > 5 {
			t.Errorf("%d starts failed within the hour, want 2 to 5", failed)
		}
		a := w.agent("a")
		if a.State != client.StateQuarantined || !strings.Contains(a.Reason, "no such model: x") || a.NextAt.IsZero() {
			t.Errorf("got %+v, want a quarantine with the agent's own words and an end", a)
		}
		w.want("steady", client.StateRunning)

		w.fake.set(func(f *fake) { f.onStart = nil })
		if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		w.want("a", client.StateRunning)
	})
}

func TestAStartThatTakesTooLongSaysHowLong(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.onStart = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return fmt.Errorf("ready: %w: %w", context.Cause(ctx), ctx.Err()) // as package startup does
		}
		w.begin()
		w.after(21 * time.Second)
		if a := w.agent("a"); a.Reason != "ready: not done within 20s, its screen says: screen of gc-town-a" {
			t.Errorf("the reason is %q", a.Reason)
		}
	})
}

func TestAStuckStartDelaysNobody(t *testing.T) {
	for _, obeys := range []bool{true, false} {
		t.Run(fmt.Sprint("obeys its deadline: ", obeys), func(t *testing.T) {
			inFakeCity(t, names(21), func(_ *testing.T, w *fakeCity) {
				w.settings = Settings{Starts: 2}
				release := make(chan struct{})
				w.fake.onStart = func(ctx context.Context, name string) error {
					if name != "gc-town-a000" {
						return nil
					}
					if !obeys {
						<-release
						return errors.New("too late")
					}
					<-ctx.Done()
					return ctx.Err()
				}
				w.begin()
				w.after(time.Second)
				for _, name := range names(21)[1:] {
					w.want(name, client.StateRunning)
				}
				w.want("a000", client.StateStarting)
				w.fake.end("gc-town-a001", 1)
				w.after(5 * time.Second)
				w.want("a001", client.StateRunning)
				close(release)
				w.fake.set(func(f *fake) { f.onStart = nil })
			})
		})
	}
}

func TestTwoStuckStartsGiveTheirPlacesBack(t *testing.T) {
	inFakeCity(t, []string{"stuck1", "stuck2"}, func(t *testing.T, w *fakeCity) {
		w.settings = Settings{Starts: 2}
		release := make(chan struct{})
		w.fake.onStart = func(_ context.Context, name string) error {
			if name != "gc-town-b" {
				<-release
				return errors.New("too late")
			}
			return nil
		}
		w.begin()
		w.edit(func(d *plan.Desired) { d.Sessions = append(d.Sessions, agentSession("b")) })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		w.want("b", client.StateCreating) // due, but without a place
		w.after(20*time.Second + overdueAfter + time.Second)
		w.want("b", client.StateRunning)
		close(release)
	})
}

func TestAnUnreachablePlaceFreezesEverything(t *testing.T) {
	inFakeCity(t, names(20), func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		w.fake.set(func(f *fake) { f.down = errDown })
		w.after(time.Minute)
		w.fake.end("gc-town-a003", 1) // the event comes, the look fails
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[:10] })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		calls := w.fake.snapshotCalls()
		w.after(5 * time.Minute)
		status, _ := w.c.Status(t.Context())
		if status.Controller.Degraded == "" || !strings.Contains(status.Controller.Degraded, "no answer") {
			t.Errorf("degraded is %q, want the reason", status.Controller.Degraded)
		}
		for _, verb := range []string{"start", "stop", "relaunch", "interrupt"} {
			if got := w.fake.number(verb); got != calls[verb] {
				t.Errorf("%d calls of %s while nothing could be observed", got-calls[verb], verb)
			}
		}
		w.want("a005", client.StateUnknown)

		w.fake.set(func(f *fake) { f.down = nil })
		w.after(2 * time.Minute)
		status, _ = w.c.Status(t.Context())
		lives := w.fake.lives()
		if status.Controller.Degraded != "" || len(lives) != 10 || lives["gc-town-a000"] != before["gc-town-a000"] || lives["gc-town-a003"] == before["gc-town-a003"] {
			t.Errorf("after recovery degraded is %q and %d sessions run; want 10, a000 untouched, a003 new", status.Controller.Degraded, len(lives))
		}
	})
}

func TestAPartialListingFreezesToo(t *testing.T) {
	inFakeCity(t, names(5), func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		w.fake.set(func(f *fake) { f.partial = true })
		w.after(2 * time.Minute)
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[:1] })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(2 * time.Minute)
		if diff := cmp.Diff(before, w.fake.lives()); diff != "" {
			t.Errorf("sessions were touched on an incomplete list:\n%s", diff)
		}
	})
}

func TestASessionThatCannotBeToldAliveIsLeftAlone(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.fake.set(func(f *fake) { f.blind["gc-town-a"] = true })
		w.fake.set(func(f *fake) { f.emit(runtime.Event{Kind: runtime.EventExited, Session: "gc-town-a"}) })
		w.after(5 * time.Minute)
		w.want("a", client.StateUnknown)
		w.want("b", client.StateRunning)
		if _, err := w.c.Kill(t.Context(), "a", client.LifecycleRequest{}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("killing the unknown: %v, want a refusal", err)
		}
		if w.fake.number("start") != 2 || w.fake.number("stop") != 0 {
			t.Errorf("calls are %v, want two starts and no stop", w.fake)
		}
	})
}

func TestTwoHundredIdleSessionsCostOneListAPatrol(t *testing.T) {
	inFakeCity(t, names(200), func(t *testing.T, w *fakeCity) {
		w.begin()
		w.after(time.Minute)
		before, writes := w.fake.snapshotCalls(), w.records.count()
		w.after(time.Hour)
		after := w.fake.snapshotCalls()
		if lists := after["list"] - before["list"]; lists < 119 || lists > 121 {
			t.Errorf("%d lists in an hour of 30s patrols, want 120", lists)
		}
		for _, call := range []string{"observe", "meta", "start", "stop"} {
			if after[call] != before[call] {
				t.Errorf("%d calls of %s although nothing happened", after[call]-before[call], call)
			}
		}
		if w.records.count() != writes {
			t.Errorf("%d store writes although nothing happened", w.records.count()-writes)
		}
		for range 100 {
			if _, err := w.c.Status(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.fake.snapshotCalls(); !cmp.Equal(got, after) {
			t.Errorf("reading the status 100 times made calls: %v, then %v", after, got)
		}
	})
}

func TestAPlaceWithoutEventsIsPatrolled(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.streams = false
		w.begin()
		w.after(time.Minute)
		w.fake.end("gc-town-a", 1)
		w.after(33 * time.Second)
		if a := w.agent("a"); a.State != client.StateRunning || a.Restarts != 1 {
			t.Errorf("got %+v, want one restart within a patrol", a)
		}
	})
}

func TestDependenciesStartInWaves(t *testing.T) {
	inFakeCity(t, []string{"app", "db"}, func(t *testing.T, w *fakeCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].DependsOn = []string{"db"} })
		w.fake.onStart = func(ctx context.Context, _ string) error {
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		w.begin()
		w.after(time.Second)
		w.want("app", client.StateStopped)
		if a := w.agent("app"); !strings.Contains(a.Reason, "waits for db") {
			t.Errorf("app's reason is %q, want that it waits for db", a.Reason)
		}
		w.after(7 * time.Second)
		if got := w.fake.starts(); !slices.Equal(got, []string{"gc-town-db", "gc-town-app"}) {
			t.Errorf("started %v, want db and then app", got)
		}
	})
}

func TestTheStartCarriesTokenAndNotes(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		s := w.fake.sessions["gc-town-a"]
		if s.token != "token-1" || s.meta[ops.MetaCity] != "/town" || s.meta[ops.MetaAgent] != "a" || !runtime.FingerprintCurrent(s.meta["GC_CONFIG_HASH"]) {
			t.Errorf("token %q, notes %v; want the generated token, city, agent and hashes", s.token, s.meta)
		}
		a := w.agent("a")
		if a.Instance == "" || strings.Contains(a.Instance, "token") {
			t.Errorf("the public instance is %q, want a fingerprint", a.Instance)
		}
		for _, value := range s.meta {
			if strings.Contains(value, s.token) {
				t.Errorf("a note holds the instance token: %q", value)
			}
		}
	})
}
