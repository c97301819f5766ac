package questions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/servicetest"
)

func TestQuestionIsVisibleAtOnceByteForByte(t *testing.T) {
	for _, kind := range []string{runtime.WaitPermission, runtime.WaitQuestion, runtime.WaitMenu, runtime.WaitLogin, runtime.WaitLimit} {
		synctest.Test(t, func(t *testing.T) {
			w := newServiceTest(t)
			w.agent("a")
			w.run()
			start := time.Now()
			asked := permission("r1")
			asked.Kind, asked.Metadata[runtime.MetaUntil] = kind, start.Add(time.Minute).Format(time.RFC3339Nano)
			w.raiseQuestion("a", asked)
			got := w.only()
			if took := time.Since(start); took != 0 {
				t.Errorf("it took %v until the question was listed, want no time at all", took)
			}
			want := client.Pending{
				ID: got.ID, Agent: "a", Session: "s-a", Instance: "a-1", Kind: kind, Prompt: asked.Prompt, Options: asked.Options,
				Tool: "Bash", Input: "rm -rf ./build", Source: "screen", Since: start, Until: start.Add(time.Minute), Deadline: start.Add(10 * time.Minute),
				Policy: Escalate, State: client.PendingOpen,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the question is not what was asked (-want +got):\n%s", diff)
			}
			kept, _ := w.Store.LoadPending(t.Context())
			if len(kept) != 1 || kept[0].ID != got.ID || kept[0].Notified.IsZero() {
				t.Errorf("the store holds %+v, want the question, with the alert noted", kept)
			}
			events, _, _ := w.Log.After(t.Context(), 0)
			if len(events) != 1 || events[0].Kind != "pending.raised" || events[0].Data["id"] != got.ID || events[0].Data["prompt"] != asked.Prompt ||
				events[0].Data["options"] != `["Yes","Yes, and don't ask again","No, and tell it why"]` {
				t.Errorf("events are %+v, want one pending.raised with the whole question", events)
			}
			if w.alerts() != 1 {
				t.Errorf("%d alerts went out, want 1", w.alerts())
			}
		})
	}
}

func TestEndsWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(w *serviceTest)
		want    string
	}{
		"answered at the terminal": {func(w *serviceTest) { w.provider("a").asks = nil; w.read("a") }, client.PendingResolved},
		"exit": {func(w *serviceTest) {
			w.Change("a", func(v *session.Snapshot) { v.Running, v.State, v.Instance = false, client.StateFailed, "" })
		}, client.PendingGone},
		"new instance": {func(w *serviceTest) { w.Change("a", func(v *session.Snapshot) { v.Instance = "a-2"; v.Pending = nil }) }, client.PendingGone},
		"no reading": {func(w *serviceTest) {
			w.Change("a", func(v *session.Snapshot) { v.Unknown, v.Pending, v.Running = "the driver is away", nil, false })
		}, client.PendingOpen},
		"older reading": {func(w *serviceTest) {
			w.Change("a", func(v *session.Snapshot) { v.Pending, v.ReadAt = nil, v.ReadAt.Add(-time.Second) })
		}, client.PendingOpen},
		"stopping": {func(w *serviceTest) {
			w.Change("a", func(v *session.Snapshot) { v.Running, v.State = false, client.StateStopping })
		}, client.PendingOpen},
		"removed, just now": {func(w *serviceTest) {
			w.Remove("a")
			servicetest.Advance(time.Second)
			w.questions.SessionChanged("s-a")
			synctest.Wait()
		}, client.PendingOpen},
		"removed": {func(w *serviceTest) {
			w.Remove("a")
			time.Sleep(absentGrace + time.Second)
			synctest.Wait()
		}, client.PendingGone},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newServiceTest(t)
				w.agent("a")
				w.run()
				w.raiseQuestion("a", permission("r1"))
				time.Sleep(time.Second)
				c.happens(w)
				got := w.only()
				if got.State != c.want {
					t.Fatalf("the question is %q, want %q", got.State, c.want)
				}
				if c.want == client.PendingOpen {
					return
				}
				if kinds := w.Kinds(); !slices.Equal(kinds, []string{"pending.raised", "pending." + c.want}) {
					t.Errorf("events are %v", kinds)
				}
				if _, err := w.questions.Respond(t.Context(), got.ID, client.RespondRequest{Option: "1"}); !errors.Is(err, client.ErrRefused) {
					t.Errorf("an answer after the end got %v, want a refusal", err)
				}
			})
		})
	}
}

func TestSameQuestionAgainIsANewEpisode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		a := w.agent("a")
		w.run()
		for range 3 {
			w.raiseQuestion("a", permission("r1"))
			w.read("a")
			w.read("a")
			time.Sleep(time.Second)
			a.asks = nil
			w.read("a")
			time.Sleep(time.Second)
		}
		all := w.list()
		if len(all) != 3 || all[0].ID == all[1].ID || all[1].ID == all[2].ID || w.alerts() != 3 {
			t.Errorf("%d episodes and %d alerts, want 3 of each with their own ids", len(all), w.alerts())
		}
	})
}

func TestOneQuestionAfterAnotherEndsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		time.Sleep(time.Second)
		w.raiseQuestion("a", permission("r2"))
		all := w.list()
		if len(all) != 2 || all[0].State != client.PendingResolved || all[1].State != client.PendingOpen {
			t.Fatalf("the episodes are %+v, want the first resolved and the second open", all)
		}
		if _, err := w.questions.Respond(t.Context(), all[0].ID, client.RespondRequest{Option: "1"}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("an answer to the first got %v, want a refusal", err)
		}
	})
}

func TestAnswerForAnotherInstanceIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		a := w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		id := w.only().ID
		w.Mu.Lock() // the controller knows, and the service does not yet
		v := w.Views["a"]
		v.Instance, v.ReadAt = "a-2", time.Now()
		w.Views["a"] = v
		w.Mu.Unlock()
		_, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "1"})
		if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "instance") || len(a.answers) != 0 {
			t.Errorf("got %v and %d answers sent, want a refusal that names the instance, and none", err, len(a.answers))
		}
	})
}

func TestIdleServiceDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		for name := range strings.SplitSeq("abcdefghij", "") {
			w.agent(name)
		}
		w.run()
		w.raiseQuestion("a", permission("r1"))
		w.provider("a").asks = nil
		time.Sleep(time.Second)
		w.read("a")
		saves, events := w.Store.Tries(), len(w.Kinds())
		for range 100 {
			w.read("b")
			time.Sleep(time.Minute)
		}
		if w.Store.Tries() != saves || len(w.Kinds()) != events || w.alerts() != 1 {
			t.Errorf("an idle service saved %d times and emitted %d events", w.Store.Tries()-saves, len(w.Kinds())-events)
		}
		if len(w.questions.entries) != 0 {
			t.Errorf("the service keeps %d sessions without a question", len(w.questions.entries))
		}
	})
}

func TestSessionChangedNeverBlocks(t *testing.T) {
	d := New(Options{})
	for range 1000 {
		d.SessionChanged("s") // it is not received
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Pending(ctx, "", client.OnlyOpen); !errors.Is(err, context.Canceled) {
		t.Errorf("a service that does not run answered %v, want the end of ctx", err)
	}
}
