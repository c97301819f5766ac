package controller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// setObstacle sets the activity and the obstacle of agent a.
func (w *testCity) setObstacle(a runtime.Activity, o runtime.Obstacle) {
	w.provider.setActivity("gc-town-a", a, func(r *runtime.Reading) { r.Evidence[0].Obstacle = o })
	w.advance(time.Second)
}

func (w *testCity) obstacle() client.AgentObstacle {
	w.t.Helper()
	if o := w.agent("a").Obstacle; o != nil {
		return *o
	}
	return client.AgentObstacle{}
}

// TestLoginIsProbedWithGrowingPauses: an agent whose model provider refuses the login gets its
// next prompt after one minute. Each prompt makes the pause longer, also under a
// later controller. gc resume ends the pause, and a turn that succeeds ends the obstacle.
func TestLoginIsProbedWithGrowingPauses(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		refused := runtime.Obstacle{Kind: runtime.ObstacleLogin, Detail: "Please run /login"}
		try := func(want time.Duration) {
			t.Helper()
			w.advance(time.Until(w.obstacle().ProbeAt) + time.Second)
			w.setObstacle(runtime.ActivityBusy, runtime.Obstacle{})
			w.c.Probed("a")
			w.advance(time.Millisecond)
			w.setObstacle(runtime.ActivityIdle, refused)
			if got := time.Until(w.obstacle().ProbeAt).Round(10 * time.Second); got != want {
				t.Errorf("the next prompt is tried in %v, want %v: %+v", got, want, w.obstacle())
			}
		}
		w.setObstacle(runtime.ActivityIdle, refused)
		if got := w.obstacle(); got.Kind != client.ObstacleLogin || got.Detail != refused.Detail || time.Until(got.ProbeAt).Round(10*time.Second) != time.Minute {
			t.Errorf("the agent shows %+v, want a login and a prompt in a minute", got)
		}
		try(2 * time.Minute)
		try(5 * time.Minute)
		w.stop()
		w.start()
		w.advance(time.Second)
		try(10 * time.Minute)
		if _, err := w.c.Resume(t.Context(), "a", client.LifecycleRequest{}); err != nil || w.obstacle().ProbeAt.After(time.Now()) {
			t.Errorf("after gc resume it is %+v, %v", w.obstacle(), err)
		}
		if done, err := w.c.Resume(t.Context(), "a", client.LifecycleRequest{}); err != nil || done.Changed {
			t.Errorf("a second resume says %+v, %v", done, err)
		}
		try(2 * time.Minute)
		w.setObstacle(runtime.ActivityIdle, runtime.Obstacle{})
		if w.obstacle().Kind == "" {
			t.Error("one look without the error ended it: right after a prompt none is drawn")
		}
		w.advance(5 * time.Second)
		if got := w.obstacle(); got.Kind != "" {
			t.Errorf("it works again, and shows %+v", got)
		}
	})
}

// TestARetryIsOneEvent: each attempt is shown, and only the beginning and the end are events.
func TestARetryIsOneEvent(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		writes := int64(0)
		for i := range 10 {
			w.setObstacle(runtime.ActivityBusy, runtime.Obstacle{Kind: runtime.ObstacleRetrying, Detail: "429 slow down", Attempt: i + 1, Of: 10, NextTry: time.Now().Add(5 * time.Second)})
			if got := w.obstacle(); got.Attempt != i+1 || got.Of != 10 {
				t.Errorf("attempt %d is shown as %+v", i+1, got)
			}
			if i == 0 {
				writes = w.records.writes.Load()
			}
		}
		if got := w.records.writes.Load(); got != writes {
			t.Errorf("9 attempts more were %d writes", got-writes)
		}
		w.setObstacle(runtime.ActivityIdle, runtime.Obstacle{Kind: runtime.ObstacleError, Detail: "429 slow down"})
		if got := w.obstacle(); got.Kind != client.ObstacleError {
			t.Errorf("the turn failed, and it shows %+v", got)
		}
		w.setObstacle(runtime.ActivityBusy, runtime.Obstacle{})
		if got := w.obstacle(); got.Kind != "" {
			t.Errorf("the next turn goes on, and it shows %+v", got)
		}
		var kinds []string
		for _, kind := range w.kinds("gc-town-a") {
			if kind == "session.obstacle" || kind == "session.obstacle_over" {
				kinds = append(kinds, kind)
			}
		}
		if want := []string{"session.obstacle", "session.obstacle", "session.obstacle_over"}; !slices.Equal(kinds, want) {
			t.Errorf("the events are %v, want %v", kinds, want)
		}
	})
}

// TestMissingProgramIsTheReasonWithoutHints: an agent without hints of readiness counts as
// started at once. The status still says that its program is missing.
func TestMissingProgramIsTheReasonWithoutHints(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		missing := errors.New(`cannot start "a": command "claude" not found in PATH of the controller`)
		w.change = func(o *Options) {
			o.FindProgram = ops.FindProgram(func(_ context.Context, _ *plan.Session) (string, error) { return "", missing })
		}
		w.start()
		w.want("a", "starting") // its shell has not exited yet
		w.advance(3 * time.Second)
		w.want("a", "running")
		w.stop()
		w.start() // the next controller did not search for the program
		w.provider.end("gc-town-a", 127)
		w.advance(200 * time.Millisecond)
		if a := w.agent("a"); a.Reason != missing.Error() {
			t.Errorf("the reason is %q, want %q", a.Reason, missing)
		}
		w.advance(10 * time.Second)
		w.provider.end("gc-town-a", 1)
		w.advance(200 * time.Millisecond)
		if a := w.agent("a"); a.Reason == missing.Error() {
			t.Errorf("an end of another kind is explained by %q", a.Reason)
		}
	})
}

// TestObstacleWithAnotherTextIsTheSame: a refusal with another request id each time, and a limit
// whose time is read again after it has passed, are no new obstacle.
func TestObstacleWithAnotherTextIsTheSame(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.setObstacle(runtime.ActivityIdle, runtime.Obstacle{Kind: runtime.ObstacleLogin, Detail: "401 request 1"})
		first := w.obstacle()
		w.advance(30 * time.Second)
		w.setObstacle(runtime.ActivityIdle, runtime.Obstacle{Kind: runtime.ObstacleLogin, Detail: "401 request 2"})
		if got := w.obstacle(); got.Detail != "401 request 2" || !got.Since.Equal(first.Since) || !got.ProbeAt.Equal(first.ProbeAt) || w.count("session.obstacle") != 1 {
			t.Errorf("first it was %+v, then %+v, with %d events", first, got, w.count("session.obstacle"))
		}
		ends := time.Now().Add(time.Hour)
		limit := runtime.Obstacle{Kind: runtime.ObstacleLimit, Detail: "limit reached, resets 3pm", ResetAt: ends}
		w.setObstacle(runtime.ActivityLimited, limit)
		w.advance(2 * time.Hour)
		limit.ResetAt = ends.Add(24 * time.Hour)
		w.setObstacle(runtime.ActivityLimited, limit)
		if got := w.obstacle(); !got.ResetAt.Equal(ends) || got.ProbeAt.After(time.Now()) {
			t.Errorf("after its end the limit is %+v, and it is %s", got, time.Now())
		}
	})
}
