package workers_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/worker"
)

// guarded returns a city with a guard that denies the tool for force pushes.
func guarded(t *testing.T, edit func(*workers.Options)) *engineTest {
	t.Helper()
	return newEngineTest(t, func(o *workers.Options) {
		o.Regime = func() guard.Regime { return guard.Regime{On: true} }
		o.Judge = func(_ session.Snapshot, c worker.Call) guard.Verdict {
			if c.Tool == "Bash" {
				return guard.Verdict{Action: guard.Deny, Rule: "no-shell", Reason: "no shell here"}
			}
			return guard.Verdict{Action: guard.Allow}
		}
		if edit != nil {
			edit(o)
		}
	})
}

// promptHold returns why the guard holds back the prompts of a session.
func (r *engineTest) promptHold(name string) string {
	v, err := r.now().Snapshot(name)
	r.must(err)
	return r.now().engine.PromptHold(v)
}

// TestUnprovedSessionGetsNoPrompts checks that a canary call ends the hold, that
// this survives the controller, and that another instance needs its own canary call.
func TestUnprovedSessionGetsNoPrompts(t *testing.T) {
	t.Parallel()
	ready := make(chan string, 8)
	r := guarded(t, func(o *workers.Options) { o.Ready = func(name string) { ready <- name } })
	env := r.start("s", "one")
	if why := r.promptHold("s"); why == "" {
		t.Error("a session whose worker has not spoken may have prompts")
	}
	w := clientOf(env)
	r.must(w.Report(r.within(), worker.Started, worker.Detail{}))
	r.must(w.Report(r.within(), worker.Ready, worker.Detail{}))
	if word, why := r.now().engine.GuardOf("s"); r.promptHold("s") == "" || word != workers.Unguarded || why == "" {
		t.Errorf("its reports alone free it: %q, %q", word, why)
	}
	r.must(w.Prove(r.within()))
	if word, _ := r.now().engine.GuardOf("s"); r.promptHold("s") != "" || word != workers.Guarded {
		t.Errorf("after the canary it is %q and held: %q", word, r.promptHold("s"))
	}
	select {
	case name := <-ready:
		if name != "s" {
			t.Errorf("reported %q", name)
		}
	case <-time.After(patience):
		t.Error("it was not reported that it may have prompts")
	}
	r.restart()
	r.eventually("known again", func() bool { word, _ := r.now().engine.GuardOf("s"); return word == workers.Guarded })
	if why := r.promptHold("s"); why != "" {
		t.Errorf("another controller has forgotten it: %s", why)
	}
	r.must(r.now().provider.Stop("s"))
	r.start("s", "two")
	if word, _ := r.now().engine.GuardOf("s"); r.promptHold("s") == "" || word != workers.Unguarded {
		t.Errorf("another instance is %q", word)
	}
}

// TestWorkerThatAsksAboutSomeToolsIsUnproved covers a worker that asks only about some tools:
// these calls are judged, and the session is held until another call proves the guard.
func TestWorkerThatAsksAboutSomeToolsIsUnproved(t *testing.T) {
	t.Parallel()
	ready := make(chan string, 8)
	r := guarded(t, func(o *workers.Options) { o.Ready = func(name string) { ready <- name } })
	w := clientOf(r.start("s", "one"))
	for _, tool := range []string{worker.Canary, "Bash"} {
		if _, err := w.Authorize(r.within(), worker.Call{Tool: tool, Partial: true}); err != nil {
			t.Fatal(err)
		}
	}
	if word, why := r.now().engine.GuardOf("s"); word != workers.Unguarded || !strings.Contains(why, "only what the agent asks for") || !strings.Contains(r.promptHold("s"), why) {
		t.Errorf("it is %q, %q and held: %q", word, why, r.promptHold("s"))
	}
	if len(ready) > 0 {
		t.Error("it was said to be free")
	}
	r.must(w.Prove(r.within()))
	if word, why := r.now().engine.GuardOf("s"); word != workers.Guarded || why != "" || r.promptHold("s") != "" || len(ready) != 1 {
		t.Errorf("after the canary it is %q, %q and held: %q", word, why, r.promptHold("s"))
	}
}

// TestUnprovedSessionsMayWorkIfConfigured checks that no session is held if the settings allow that or if
// there is no guard. The guard state is still shown.
func TestUnprovedSessionsMayWorkIfConfigured(t *testing.T) {
	t.Parallel()
	regime := guard.Regime{On: true, Lenient: true}
	r := guarded(t, func(o *workers.Options) { o.Regime = func() guard.Regime { return regime } })
	r.start("s", "one")
	if word, _ := r.now().engine.GuardOf("s"); r.promptHold("s") != "" || word != workers.Unguarded {
		t.Errorf("held: %q, %q", r.promptHold("s"), word)
	}
	regime = guard.Regime{}
	if word, _ := r.now().engine.GuardOf("s"); r.promptHold("s") != "" || word != "" {
		t.Errorf("without a guard: %q, %q", r.promptHold("s"), word)
	}
}

// TestBypassIsEnforcedAtOnce has a worker that asks, is denied, and reports that the tool ran.
// Within a second the city is asked to carry out the configured action.
func TestBypassIsEnforcedAtOnce(t *testing.T) {
	t.Parallel()
	for _, act := range []guard.Bypass{guard.BypassStop, guard.BypassInterrupt, guard.BypassReport} {
		t.Run(string(act), func(t *testing.T) {
			t.Parallel()
			type deed struct {
				session, instance, reason string
				act                       guard.Bypass
				at                        time.Time
			}
			var once sync.Once
			deeds := make(chan deed, 8)
			r := guarded(t, func(o *workers.Options) {
				o.Regime = func() guard.Regime { return guard.Regime{On: true, OnBypass: act} }
				o.Enforce = func(_ context.Context, session, instance, reason string, act guard.Bypass) (err error) {
					once.Do(func() { err = context.DeadlineExceeded }) // the first attempt fails
					deeds <- deed{session, instance, reason, act, time.Now()}
					return err
				}
			})
			w := clientOf(r.start("s", "one"))
			r.must(w.Prove(r.within()))
			d, err := w.Authorize(r.within(), worker.Call{ID: "call-1", Tool: "Bash"})
			r.must(err)
			if d.Allowed {
				t.Fatal("it was allowed")
			}
			began := time.Now()
			for range 2 { // a repeated report is one bypass
				_, err = w.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.ToolUsed, Timestamp: began, ToolsCalled: []worker.ToolCall{{Name: "Bash", CallID: "call-1"}, {Name: "Read", CallID: "call-2"}}})
				r.must(err)
			}
			events, _, err := r.opts.Events.After(t.Context(), 0)
			r.must(err)
			n := 0
			for _, e := range events {
				if e.Kind == string(event.WorkerBypass) {
					n++
				}
			}
			if word, why := r.now().engine.GuardOf("s"); n != 1 || word != workers.Bypassed || why == "" {
				t.Errorf("%d events, it is %q: %q", n, word, why)
			}
			if act == guard.BypassReport {
				if len(deeds) > 0 {
					t.Errorf("the city was to act: %+v", <-deeds)
				}
				return
			}
			for range 2 {
				select {
				case got := <-deeds:
					if got.session != "s" || got.instance != session.PublicInstance("one") || got.act != act || got.at.Sub(began) > time.Second {
						t.Errorf("after %s: %+v", got.at.Sub(began), got)
					}
				case <-time.After(patience):
					t.Fatal("nothing was done")
				}
			}
		})
	}
}

// TestToolThatRanDuringItsQuestionIsABypass has a worker whose hook was killed while a
// person was asked: the agent CLI ran the tool. Its report is a bypass, once, and the question
// is withdrawn: an answer to it is refused.
func TestToolThatRanDuringItsQuestionIsABypass(t *testing.T) {
	t.Parallel()
	r := newEngineTest(t, func(o *workers.Options) {
		judged(guard.Ask, patience)(o)
		o.Regime = func() guard.Regime { return guard.Regime{On: true} }
	})
	w := clientOf(r.start("a", "one"))
	decisions := make(chan worker.Decision, 1)
	go func() {
		d, _ := w.Authorize(r.within(), worker.Call{ID: "call-1", Tool: "Bash"})
		decisions <- d
	}()
	r.eventually("the question is open", func() bool { return r.pending() != nil })
	asked := r.pending()
	for range 2 { // a repeated report is one bypass
		_, err := w.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.ToolUsed, Timestamp: time.Now(), ToolsCalled: []worker.ToolCall{{Name: "Bash", CallID: "call-1"}}})
		r.must(err)
	}
	r.eventually("the question is withdrawn", func() bool { return r.pending() == nil })
	if err := r.respond(asked, runtime.ActionApprove, ""); err == nil {
		t.Error("an answer was accepted after the tool had run")
	}
	if d := <-decisions; d.Allowed || !strings.Contains(d.Reason, "ran before") {
		t.Errorf("the hook got %+v", d)
	}
	_, err := w.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.ToolUsed, Timestamp: time.Now(), ToolsCalled: []worker.ToolCall{{Name: "Bash", CallID: "call-1"}}})
	r.must(err)
	events, _, err := r.opts.Events.After(t.Context(), 0)
	r.must(err)
	n := 0
	for _, e := range events {
		if e.Kind == string(event.WorkerBypass) {
			n++
		}
	}
	if word, why := r.now().engine.GuardOf("a"); n != 1 || word != workers.Bypassed || !strings.Contains(why, "not allowed") {
		t.Errorf("%d events, it is %q: %q", n, word, why)
	}
}
