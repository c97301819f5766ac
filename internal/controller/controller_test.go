package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

func TestConfiguredAgentsAreStartedOnce(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.provider.noSense = true
		w.start()
		w.want("a", client.StateRunning)
		w.want("b", client.StateRunning)
		w.advance(10 * time.Minute)
		if got := w.provider.starts(); len(got) != 2 {
			t.Errorf("started %v, want each agent once", got)
		}
		want := []string{"session.starting", "session.started"}
		if got := w.kinds("gc-town-a"); !slices.Equal(got, want) {
			t.Errorf("events of a are %v, want %v", got, want)
		}
	})
}

func TestNextControllerAdoptsRunningAgents(t *testing.T) {
	inTestCity(t, names(20), func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		for range 5 {
			w.stop()
			w.advance(time.Second)
			w.records = &recordStore{} // only the metadata of the sessions is known
			w.start()
			w.want("a007", client.StateRunning)
		}
		if diff := cmp.Diff(before, w.provider.lives()); diff != "" || len(before) != 20 {
			t.Errorf("five controllers later other instances run (-before +after):\n%s", diff)
		}
		if got := w.provider.starts(); len(got) != 20 {
			t.Errorf("%d starts, want 20", len(got))
		}
	})
}

func TestFingerprintsOutliveTheController(t *testing.T) {
	inTestCity(t, []string{"same", "changed"}, func(t *testing.T, w *testCity) {
		w.start()
		w.stop()
		w.edit(func(d *plan.Desired) { d.Sessions[1].Config.WorkDir = "/elsewhere" })
		w.records = &recordStore{}
		before := w.provider.lives()
		w.start()
		w.advance(time.Second)
		after := w.provider.lives()
		if before["gc-town-same"] != after["gc-town-same"] || before["gc-town-changed"] == after["gc-town-changed"] {
			t.Errorf("instances were %v and are %v; want only the changed one replaced", before, after)
		}
	})
}

func TestCrashedAgentIsRestartedAtOnce(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.advance(time.Minute)
		w.provider.end("gc-town-a", 7)
		synctest.Wait()
		a := w.agent("a")
		if a.State != client.StateFailed || !strings.Contains(a.Reason, "exited with code 7") || a.Exit != "exited with code 7" || time.Until(a.NextAt) != time.Second {
			t.Errorf("right after the crash: %+v; want failed, the exit code, and a start in 1s", a)
		}
		w.advance(2 * time.Second)
		w.want("a", client.StateRunning)
		if a := w.agent("a"); a.Restarts != 1 || a.Exit != "" {
			t.Errorf("after the restart: %+v; want one restart and no exit", a)
		}
	})
}

// TestExitReasonContainsTheLastOutput also checks the order of the events. An
// agent that has exited before its start returns is reported as started first.
func TestExitReasonContainsTheLastOutput(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.noSense = true
		w.start()
		w.provider.Print("gc-town-a", "last words")
		w.provider.end("gc-town-a", 7)
		synctest.Wait()
		if a := w.agent("a"); a.Reason != "the agent exited with code 7, saying: last words" {
			t.Errorf("the reason is %q, want the last words in it", a.Reason)
		}
		w.provider.set(func(f *testProvider) { f.shortLived = true })
		w.advance(2 * time.Second)
		if got, want := w.kinds("gc-town-a"), []string{
			"session.starting", "session.started", "session.exited",
			"session.starting", "session.started", "session.exited",
		}; !slices.Equal(got, want) {
			t.Errorf("reported %v, want %v", got, want)
		}
	})
}

// TestNothingStartsDuringTheShutdown: a provider that opens while the controller shuts down is not
// watched. Nothing would wait for that watch.
func TestNothingStartsDuringTheShutdown(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		watches := &watchCounter{testProvider: w.provider}
		w.change = func(o *Options) {
			o.Provider = func(ctx context.Context, _ string) (runtime.Provider, error) {
				<-ctx.Done()
				return watches, nil
			}
		}
		w.start()
		w.stop()
		synctest.Wait()
		if n := watches.n.Load(); n != 0 {
			t.Errorf("%d watches were started during the shutdown, want 0", n)
		}
	})
}

// watchCounter is a provider that counts the calls of Watch.
type watchCounter struct {
	*testProvider
	n atomic.Int64
}

func (c *watchCounter) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	c.n.Add(1)
	return c.testProvider.Watch(ctx)
}

func TestLastOutput(t *testing.T) {
	for screen, want := range map[string]string{
		"": "", " \n\n": "", "one": "one", "one\n  two \r\n\n": "two",
		strings.Repeat("ü", 300): strings.Repeat("ü", 100) + "…",
	} {
		if got := ops.LastOutput(screen); got != want {
			t.Errorf("the last words of %q are %q, want %q", screen, got, want)
		}
	}
}

// TestConfigurationChangeEndsTheBackoff: the failed command is not the one that is started now.
func TestConfigurationChangeEndsTheBackoff(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.settings = config.Daemon{MaxRestarts: 2, RestartWindow: time.Hour}
		w.provider.onStart = func(context.Context, string) error { return errors.New("no such program") }
		w.start()
		w.advance(time.Minute)
		w.want("a", client.StateQuarantined)
		w.want("b", client.StateQuarantined)
		w.provider.set(func(f *testProvider) { f.onStart = nil })
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Command = "another program" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.want("a", client.StateRunning)
		w.want("b", client.StateQuarantined) // its configuration did not change
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.want("b", client.StateQuarantined)
	})
}

func TestExitStatusIsAwaited(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.provider.set(func(f *testProvider) { f.late = 3 })
		w.provider.end("gc-town-a", 9)
		w.advance(200 * time.Millisecond)
		if a := w.agent("a"); a.State != client.StateFailed || a.Exit != "exited with code 9" {
			t.Errorf("got %+v, want the exit code although it came late", a)
		}
		w.advance(2 * time.Second)
		w.want("a", client.StateRunning)
		w.provider.set(func(f *testProvider) { f.late = 1000 })
		w.provider.end("gc-town-a", 9)
		w.advance(2 * time.Second)
		if a := w.agent("a"); a.State != client.StateFailed || !strings.Contains(a.Reason, "its exit status is unknown") {
			t.Errorf("got %+v, want a failure without an exit code", a)
		}
	})
}

func TestAgentWithoutItsSessionIsNotStartedAgain(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.start()
		w.provider.set(func(f *testProvider) {
			for name, s := range f.sessions {
				f.orphans[name] = s.token
				delete(f.sessions, name)
				f.emit(runtime.Event{Kind: runtime.EventGone, Session: name})
			}
		})
		w.advance(time.Hour)
		w.want("a", client.StateLost)
		if got := w.provider.number("start"); got != 2 {
			t.Errorf("%d starts while the previous agents may still work, want the first two", got)
		}
		w.provider.set(func(f *testProvider) { delete(f.orphans, "gc-town-a") }) // and no event reports it
		w.advance(2 * time.Minute)
		w.want("a", client.StateRunning)
		if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"b"}}); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.want("b", client.StateRunning)
		if len(w.provider.orphans) > 0 {
			t.Error("the restart left the orphan running")
		}
	})
}

func TestLostEventDelaysAtMostOnePatrol(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.advance(time.Hour)
		w.provider.vanish("gc-town-a")
		w.advance(31 * time.Second)
		if kinds := w.kinds("gc-town-a"); !slices.Contains(kinds, "session.lost") {
			t.Errorf("events are %v, want session.lost", kinds)
		}
		w.advance(2 * time.Second)
		w.want("a", client.StateRunning)
	})
}

func TestCrashLoopEndsInQuarantineAfterMaxRestarts(t *testing.T) {
	inTestCity(t, []string{"a", "steady"}, func(t *testing.T, w *testCity) {
		w.settings = config.Daemon{MaxRestarts: 5, RestartWindow: time.Hour}
		w.provider.onStart = func(_ context.Context, name string) error {
			if name != "gc-town-a" {
				return nil
			}
			return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: "no such model: x"}
		}
		w.start()
		for range 59 {
			w.advance(time.Minute)
		}
		failed := w.provider.number("start") - 1
		if failed < 2 || failed > 5 {
			t.Errorf("%d starts failed within the hour, want 2 to 5", failed)
		}
		a := w.agent("a")
		if a.State != client.StateQuarantined || !strings.Contains(a.Reason, "no such model: x") || a.NextAt.IsZero() {
			t.Errorf("got %+v, want a quarantine with the agent's own words and an end", a)
		}
		w.want("steady", client.StateRunning)

		w.provider.set(func(f *testProvider) { f.onStart = nil })
		if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.want("a", client.StateRunning)
	})
}

func TestSlowStartReportsItsLimit(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.onStart = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return fmt.Errorf("ready: %w: %w", context.Cause(ctx), ctx.Err()) // as the start sequence does
		}
		w.provider.onPeek = "compiling"
		w.start()
		w.advance(21 * time.Second)
		if a := w.agent("a"); a.Reason != "ready: not done within 20s, its screen says: compiling" {
			t.Errorf("the reason is %q", a.Reason)
		}
	})
}

func TestHangingStartDelaysNoOtherAgent(t *testing.T) {
	for _, obeys := range []bool{true, false} {
		t.Run(fmt.Sprint("obeys its deadline: ", obeys), func(t *testing.T) {
			inTestCity(t, names(21), func(_ *testing.T, w *testCity) {
				w.settings = config.Daemon{MaxWakesPerTick: 2}
				release := make(chan struct{})
				w.provider.onStart = func(ctx context.Context, name string) error {
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
				w.start()
				w.advance(time.Second)
				for _, name := range names(21)[1:] {
					w.want(name, client.StateRunning)
				}
				w.want("a000", client.StateStarting)
				w.provider.end("gc-town-a001", 1)
				w.advance(5 * time.Second)
				w.want("a001", client.StateRunning)
				close(release)
				w.provider.set(func(f *testProvider) { f.onStart = nil })
			})
		})
	}
}

func TestHangingStartsDoNotBlockOtherStarts(t *testing.T) {
	inTestCity(t, []string{"stuck1", "stuck2"}, func(t *testing.T, w *testCity) {
		w.settings = config.Daemon{MaxWakesPerTick: 2}
		release := make(chan struct{})
		w.provider.onStart = func(_ context.Context, name string) error {
			if name != "gc-town-b" {
				<-release
				return errors.New("too late")
			}
			return nil
		}
		w.start()
		w.edit(func(d *plan.Desired) { d.Sessions = append(d.Sessions, agentSession("b")) })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.want("b", client.StateCreating) // due, but the limit of concurrent starts is reached
		w.advance(20*time.Second + overdueAfter + time.Second)
		w.want("b", client.StateRunning)
		close(release)
	})
}

func TestNothingChangesWhileTheProviderIsUnreachable(t *testing.T) {
	inTestCity(t, names(20), func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		w.provider.set(func(f *testProvider) { f.down = errDown })
		w.advance(time.Minute)
		w.provider.end("gc-town-a003", 1) // the event arrives, and the observation fails
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[:10] })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		calls := w.provider.snapshotCalls()
		w.advance(5 * time.Minute)
		status, _ := w.c.Status(t.Context())
		if status.Controller.Degraded == "" || !strings.Contains(status.Controller.Degraded, "no answer") {
			t.Errorf("degraded is %q, want the reason", status.Controller.Degraded)
		}
		for _, verb := range []string{"start", "stop", "relaunch", "interrupt"} {
			if got := w.provider.number(verb); got != calls[verb] {
				t.Errorf("%d calls of %s while nothing could be observed", got-calls[verb], verb)
			}
		}
		w.want("a005", client.StateUnknown)

		w.provider.set(func(f *testProvider) { f.down = nil })
		w.advance(2 * time.Minute)
		status, _ = w.c.Status(t.Context())
		lives := w.provider.lives()
		if status.Controller.Degraded != "" || len(lives) != 10 || lives["gc-town-a000"] != before["gc-town-a000"] || lives["gc-town-a003"] == before["gc-town-a003"] {
			t.Errorf("after recovery degraded is %q and %d sessions run; want 10, a000 untouched, a003 new", status.Controller.Degraded, len(lives))
		}
	})
}

func TestNothingChangesAfterAPartialListing(t *testing.T) {
	inTestCity(t, names(5), func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		w.provider.set(func(f *testProvider) { f.partial = true })
		w.advance(2 * time.Minute)
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[:1] })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(2 * time.Minute)
		if diff := cmp.Diff(before, w.provider.lives()); diff != "" {
			t.Errorf("sessions were touched on an incomplete list:\n%s", diff)
		}
	})
}

func TestSessionOfUnknownLivenessIsNotChanged(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.start()
		w.provider.set(func(f *testProvider) { f.blind["gc-town-a"] = true })
		w.provider.set(func(f *testProvider) { f.emit(runtime.Event{Kind: runtime.EventExited, Session: "gc-town-a"}) })
		w.advance(5 * time.Minute)
		w.want("a", client.StateUnknown)
		w.want("b", client.StateRunning)
		if _, err := w.c.Kill(t.Context(), "a", client.LifecycleRequest{}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("killing the unknown: %v, want a refusal", err)
		}
		if w.provider.number("start") != 2 || w.provider.number("stop") != 0 {
			t.Errorf("calls are %v, want two starts and no stop", w.provider)
		}
	})
}

func TestTwoHundredIdleSessionsNeedOneListCallPerPatrol(t *testing.T) {
	inTestCity(t, names(200), func(t *testing.T, w *testCity) {
		w.start()
		w.advance(time.Minute)
		before, writes := w.provider.snapshotCalls(), w.records.writes.Load()
		w.advance(time.Hour)
		after := w.provider.snapshotCalls()
		if lists := after["list"] - before["list"]; lists < 119 || lists > 121 {
			t.Errorf("%d lists in an hour of 30s patrols, want 120", lists)
		}
		for _, call := range []string{"observe", "meta", "start", "stop"} {
			if after[call] != before[call] {
				t.Errorf("%d calls of %s although nothing happened", after[call]-before[call], call)
			}
		}
		if w.records.writes.Load() != writes {
			t.Errorf("%d store writes although nothing happened", w.records.writes.Load()-writes)
		}
		for range 100 {
			if _, err := w.c.Status(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.provider.snapshotCalls(); !cmp.Equal(got, after) {
			t.Errorf("reading the status 100 times made calls: %v, then %v", after, got)
		}
	})
}

func TestProviderWithoutEventsIsPatrolled(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.noWatch = true
		w.start()
		w.advance(time.Minute)
		w.provider.end("gc-town-a", 1)
		w.advance(33 * time.Second)
		if a := w.agent("a"); a.State != client.StateRunning || a.Restarts != 1 {
			t.Errorf("got %+v, want one restart within a patrol", a)
		}
	})
}

func TestDependenciesStartFirst(t *testing.T) {
	inTestCity(t, []string{"app", "db"}, func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].DependsOn = []string{"db"} })
		w.provider.onStart = func(ctx context.Context, _ string) error {
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		w.start()
		w.advance(time.Second)
		w.want("app", client.StateStopped)
		if a := w.agent("app"); !strings.Contains(a.Reason, "waits for db") {
			t.Errorf("app's reason is %q, want that it waits for db", a.Reason)
		}
		w.advance(7 * time.Second)
		if got := w.provider.starts(); !slices.Equal(got, []string{"gc-town-db", "gc-town-app"}) {
			t.Errorf("started %v, want db and then app", got)
		}
	})
}

func TestStartSetsTokenAndMetadata(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		s := w.provider.sessions["gc-town-a"]
		note := func(key string) string { return w.provider.note("gc-town-a", key) }
		if s.token != "token-1" || note(ops.MetaCity) != "/town" || note(ops.MetaAgent) != "a" || !runtime.FingerprintCurrent(note("GC_CONFIG_HASH")) {
			t.Errorf("token %q, metadata %v; want the generated token, city, agent and hashes", s.token, w.provider.Calls("SetMeta"))
		}
		a := w.agent("a")
		if a.Instance == "" || strings.Contains(a.Instance, "token") {
			t.Errorf("the public instance is %q, want a fingerprint", a.Instance)
		}
		for _, call := range w.provider.Calls("SetMeta") {
			if strings.Contains(call.String(), s.token) {
				t.Errorf("the metadata has the instance token: %s", call)
			}
		}
	})
}

// TestAReloadIsAnsweredWhenTheStatusShowsIt: who reloads the configuration and then reads the status sees the new configuration,
// also if the controller is slow.
func TestAReloadIsAnsweredWhenTheStatusShowsIt(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		var slow atomic.Bool
		ready := make(chan struct{})
		w.change = func(o *Options) {
			o.Queued = func(string) (int, time.Time) { // every decision calls it
				if slow.Load() {
					<-ready
				}
				return 0, time.Time{}
			}
		}
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Second)
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Command += " again" })
		slow.Store(true)
		read := make(chan client.Status, 1)
		go func() {
			if _, err := w.c.Reload(t.Context()); err != nil {
				t.Error(err)
			}
			status, _ := w.c.Status(t.Context())
			read <- status
		}()
		synctest.Wait()
		slow.Store(false)
		close(ready)
		if status := <-read; len(status.Agents) != 1 || len(status.Agents[0].Drift) == 0 {
			t.Errorf("after the reload the status is %+v, want a changed configuration", status.Agents)
		}
	})
}
