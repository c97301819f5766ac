package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/driver"
	"gascity/runtime"
)

// TestProgressExtendsAStart has an agent that prints for some time. The limit without output is
// 20 s.
func TestProgressExtendsAStart(t *testing.T) {
	for _, row := range []struct {
		name    string
		prints  time.Duration // how long it prints, every second
		ready   time.Duration
		ends    time.Duration // when the start fails; zero: it succeeds
		reasons string
	}{
		{name: "ready after a long build", prints: 70 * time.Second, ready: 72 * time.Second},
		{name: "stops printing", prints: 30 * time.Second, ready: time.Hour, ends: 35 * time.Second, reasons: "not done within 35s"},
		{name: "prints for ever", prints: time.Hour, ready: time.Hour, ends: 100 * time.Second, reasons: "not done within 1m40s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
				began := time.Now()
				var ended time.Duration
				w.provider.onPeek = "compiling\nlinking stage 3"
				w.provider.onStart = func(ctx context.Context, name string) error {
					tick := time.NewTicker(time.Second)
					defer tick.Stop()
					for time.Since(began) < row.ready {
						select {
						case <-tick.C:
							if time.Since(began) <= row.prints {
								w.provider.set(func(f *testProvider) { f.emit(runtime.Event{Kind: runtime.EventOutput, Session: name}) })
							}
						case <-ctx.Done():
							ended = time.Since(began)
							return fmt.Errorf("ready: %w: %w", context.Cause(ctx), ctx.Err())
						}
					}
					return nil
				}
				w.start()
				w.advance(max(row.ends, row.ready%time.Hour) + 500*time.Millisecond)
				if row.ends == 0 {
					w.want("a", client.StateRunning)
					return
				}
				a := w.agent("a")
				if ended.Round(time.Second) != row.ends || !strings.Contains(a.Reason, row.reasons) || !strings.Contains(a.Reason, "linking stage 3") {
					t.Errorf("given up after %v: %s; want %v, %q and the screen", ended, a.Reason, row.ends, row.reasons)
				}
				if class := w.lastData("session.start_failed", "class"); class != "timeout" {
					t.Errorf("its class is %q", class)
				}
				if r := w.records.record(t, "gc-town-a"); !strings.Contains(r.Screen, "compiling") {
					t.Errorf("the screen kept is %q", r.Screen)
				}
			})
		})
	}
}

// lastData returns a value of the last event of a kind.
func (w *testCity) lastData(kind, key string) string {
	events, _, _ := w.log.After(w.t.Context(), 0)
	for _, e := range slices.Backward(events) {
		if e.Kind == kind {
			return e.Data[key]
		}
	}
	return ""
}

func TestFailuresAreClassified(t *testing.T) {
	for want, err := range map[string]error{
		"missing binary": &runtime.StartupDeath{Exit: runtime.Exit{Code: 127}, Output: "sh: 1: claud: not found"},
		"exit":           &runtime.StartupDeath{Exit: runtime.Exit{Code: 2}, Output: "unknown flag: --colour-of"},
		"setup":          &driver.StartStepError{Step: "pre_start", Err: &driver.CommandError{Command: "make", Output: "no rule to make target", Err: context.Canceled}},
		"dialog":         &driver.StartStepError{Step: "ready", Err: &driver.BlockedError{}},
	} {
		t.Run(want, func(t *testing.T) {
			inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
				w.provider.onStart = func(context.Context, string) error { return err }
				w.start()
				if got := w.lastData("session.start_failed", "class"); got != want {
					t.Errorf("%v is of class %q", err, got)
				}
				x, xerr := w.c.Explain(t.Context(), "a")
				for _, root := range []string{"not found", "unknown flag: --colour-of", "no rule to make target"} {
					if strings.Contains(err.Error(), root) && !strings.Contains(x.Output+x.Reason, root) || xerr != nil {
						t.Errorf("the explanation does not hold the root %q: %+v, %v", root, x, xerr)
					}
				}
			})
		})
	}
}

// The status and the explanation show what a start waits for, as long as the driver reports it.
func TestStartProgressIsReported(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.noSense = true
		const words = "no node takes the pod: 0/3 nodes are available"
		there := make(chan struct{})
		w.provider.onStart = func(ctx context.Context, _ string) error {
			runtime.TellProgress(ctx, "another one")
			<-time.After(5 * time.Second)
			runtime.TellProgress(ctx, words)
			<-there
			return nil
		}
		w.start()
		w.advance(10 * time.Second)
		if a := w.agent("a"); a.State != client.StateStarting || !strings.Contains(a.Reason, words) || strings.Contains(a.Reason, "another") {
			t.Errorf("while it waits it is %s: %s", a.State, a.Reason)
		}
		if x, err := w.c.Explain(t.Context(), "a"); err != nil || !strings.Contains(x.Agent.Reason, words) {
			t.Errorf("while it waits it is explained as %+v, %v", x, err)
		}
		close(there)
		w.advance(10 * time.Second)
		if a := w.agent("a"); a.State != client.StateRunning || strings.Contains(a.Reason, words) {
			t.Errorf("afterwards it is %s: %s", a.State, a.Reason)
		}
	})
}

func TestStartWarningIsReported(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		const warning = "a trust dialog is up and was not answered: unknown layout"
		w.provider.startNotes = map[string]string{driver.MetaWarning: warning}
		w.start()
		if a := w.agent("a"); a.State != client.StateRunning || a.Warning != warning {
			t.Errorf("got %+v, want the warning beside a running agent", a)
		}
		if x, err := w.c.Explain(t.Context(), "a"); err != nil || !slices.Contains(x.Warnings, warning) {
			t.Errorf("explained as %+v, %v", x, err)
		}
		w.provider.set(func(f *testProvider) { f.startNotes = nil })
		w.provider.end("gc-town-a", 1)
		w.advance(10 * time.Second)
		if a := w.agent("a"); a.Warning != "" {
			t.Errorf("the next instance still has the warning %q", a.Warning)
		}
	})
}

// TestDialogOfAStartIsShownAtOnce has a start with a dialog. It is shown as a
// question only if a person must answer it.
func TestDialogOfAStartIsShownAtOnce(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		asks := func(why string) {
			q := &runtime.PendingInteraction{RequestID: "q-" + why, Kind: runtime.WaitMenu, Metadata: map[string]string{runtime.MetaWhy: why}}
			w.provider.set(func(f *testProvider) { f.readings = map[string]runtime.Reading{"gc-town-a": {Pending: q}} })
		}
		answered := make(chan struct{})
		w.provider.onStart = func(_ context.Context, name string) error {
			w.provider.set(func(f *testProvider) {
				_ = f.startLocked(t.Context(), name, runtime.Config{Env: map[string]string{"GC_INSTANCE_TOKEN": "token-1"}}) // it never fails
				f.startNotes = map[string]string{driver.MetaWarning: "ready: a trust dialog is up and was not answered: no rule\nsession_setup: no theme\nprompt: the first prompt is unknown"}
			})
			<-answered
			w.provider.vanish(name)
			return nil
		}
		asks("")
		w.start()
		w.advance(5 * time.Second)
		if v, _ := w.c.Snapshot("a"); v.Pending != nil || v.Ready {
			t.Errorf("a dialog that the start answers is shown: %+v", v)
		}
		asks("a person has to trust the folder")
		w.provider.works("gc-town-a")
		w.advance(time.Second)
		if v, _ := w.c.Snapshot("a"); v.Pending == nil || v.Instance == "" || v.ReadAt.IsZero() || v.Running || v.Ready {
			t.Errorf("a second after the dialog came up the view is %+v", v)
		}
		close(answered)
		w.advance(time.Second)
		if a := w.agent("a"); !strings.Contains(a.Warning, "dialog") {
			t.Errorf("the warning is %q, and the dialog stands", a.Warning)
		}
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(time.Second)
		if a := w.agent("a"); a.Warning != "session_setup: no theme\nprompt: the first prompt is unknown" {
			t.Errorf("it is %s, and the warning is %q", a.Activity.State, a.Warning)
		}
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Second)
		if a := w.agent("a"); a.Warning != "session_setup: no theme" {
			t.Errorf("it is %s, and the warning is %q", a.Activity.State, a.Warning)
		}
	})
}

func TestFailureIsReportedInOneLineAndSavedInFull(t *testing.T) {
	printed := "loading\n" + strings.Repeat("a line of a long traceback\n", 100) + "no such module: left_pad\n\n"
	for name, err := range map[string]error{
		"agent":   &runtime.StartupDeath{Exit: runtime.Exit{Code: 3}, Output: printed},
		"command": &driver.CommandError{Command: "make ready", Output: printed, Err: errors.New("exit status 2")},
	} {
		t.Run(name, func(t *testing.T) {
			inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
				w.provider.onStart = func(context.Context, string) error { return err }
				w.start()
				w.advance(100 * time.Millisecond)
				a := w.agent("a")
				if strings.Contains(a.Reason, "\n") || len(a.Reason) > 600 || !strings.Contains(a.Reason, "no such module: left_pad") {
					t.Errorf("the reason is %q, want one line that ends with the last one printed", a.Reason)
				}
				got, explainErr := w.c.Explain(t.Context(), "a")
				if explainErr != nil || got.Output != printed {
					t.Errorf("explain has %d of %d characters of the output, %v", len(got.Output), len(printed), explainErr)
				}
			})
		})
	}
}
