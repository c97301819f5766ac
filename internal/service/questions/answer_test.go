package questions

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/servicetest"
)

func TestAnsweredQuestionEndsWhenTheAgentStopsAsking(t *testing.T) {
	for meant, want := range map[string]string{
		"Yes": "Yes", "1": "Yes", "yes": "Yes", "no": "No, and tell it why", "3": "No, and tell it why", "yes, and": "Yes, and don't ask again",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newServiceTest(t)
			a := w.agent("a")
			w.run()
			w.raiseQuestion("a", permission("r1"))
			w.readAfterAnswers("a")
			got, err := w.questions.Respond(t.Context(), w.only().ID, client.RespondRequest{Option: meant, By: "anna"})
			if err != nil || got.State != client.PendingAnswered || got.Answer != want || got.AnsweredBy != "anna" {
				t.Fatalf("answered %q: %+v, %v; want %q answered by anna", meant, got, err, want)
			}
			sent := []runtime.InteractionResponse{{RequestID: "r1", Action: runtime.ActionChoose, Text: want}}
			if diff := cmp.Diff(sent, a.answers); diff != "" {
				t.Errorf("the driver got (-want +got):\n%s", diff)
			}
			if kinds := w.Kinds(); !slices.Equal(kinds, []string{"pending.raised", "pending.answered"}) {
				t.Errorf("events are %v", kinds)
			}
			_, err = w.questions.Respond(t.Context(), got.ID, client.RespondRequest{Option: "2", By: "otto"})
			if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), `was answered by anna with "`+want) {
				t.Errorf("a late answer got %v, want a refusal that names who answered first", err)
			}
		})
	}
}

func TestAnswersThatDoNotFitAreRefusedWithTheOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		a := w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		id := w.only().ID
		for name, req := range map[string]client.RespondRequest{
			"no option": {Option: "maybe"}, "ambiguous": {Option: "ye"}, "number": {Option: "4"}, "zero": {Option: "0"},
			"both": {Option: "1", Text: "x"}, "neither": {},
		} {
			_, err := w.questions.Respond(t.Context(), id, req)
			if !errors.Is(err, client.ErrInvalid) {
				t.Errorf("%s: %v, want it invalid", name, err)
			}
			want := `1 "Yes", 2 "Yes, and don't ask again"`
			if name != "ambiguous" { // then only the matching options are listed
				want += `, 3 "No, and tell it why"`
			}
			if req.Option != "" && req.Text == "" && !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: %v, want the options listed", name, err)
			}
		}
		if _, err := w.questions.Respond(t.Context(), "q-none", client.RespondRequest{Option: "1"}); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("an unknown id got %v, want not found", err)
		}
		if _, err := w.questions.Pending(t.Context(), "nobody", client.OnlyOpen); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("the questions of an unknown agent are %v, want not found", err)
		}
		if len(a.answers) != 0 {
			t.Errorf("the driver got %+v, want nothing", a.answers)
		}
		if got, err := w.questions.Pending(t.Context(), "a", client.OnlyOpen); err != nil || len(got) != 1 {
			t.Errorf("the questions of a are %+v, %v; want the one", got, err)
		}
	})
}

func TestOfFiftyAnswersExactlyOneWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		a := w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		w.readAfterAnswers("a")
		id := w.only().ID
		var won, refused atomic.Int32
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				_, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: []string{"1", "2", "3"}[i%3], By: "x"})
				switch {
				case err == nil:
					won.Add(1)
				case errors.Is(err, client.ErrRefused):
					refused.Add(1)
				default:
					t.Errorf("an answer got %v", err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 || refused.Load() != 49 || len(a.answers) != 1 {
			t.Errorf("%d answers won, %d were refused and the agent got %d; want 1, 49 and 1", won.Load(), refused.Load(), len(a.answers))
		}
	})
}

func TestAnswerWithoutEffectIsReportedAndCanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		a := w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		id := w.only().ID
		a.ignores = true
		start := time.Now()
		_, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "1", By: "anna"})
		if !errors.Is(err, client.ErrTimeout) || !strings.Contains(err.Error(), "still open") || time.Since(start) != answerGrace {
			t.Fatalf("after %v: %v; want a time-out after 5 s that says that it is still open", time.Since(start), err)
		}
		if got := w.only(); got.State != client.PendingOpen {
			t.Fatalf("the question is %s, want it open", got.State)
		}
		a.ignores = false
		w.readAfterAnswers("a")
		got, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "2", By: "otto"})
		if err != nil || got.State != client.PendingAnswered || got.AnsweredBy != "otto" {
			t.Errorf("the second answer: %+v, %v; want it answered by otto", got, err)
		}
	})
}

func TestAnswerIsConfirmedWithoutAChangeOfTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		got, err := w.questions.Respond(t.Context(), w.only().ID, client.RespondRequest{Text: "do the other thing"})
		if err != nil || got.State != client.PendingAnswered || got.Answer != "do the other thing" || got.AnsweredBy != anonymousResponder {
			t.Fatalf("answered: %+v, %v", got, err)
		}
		w.Change("a", func(*session.Snapshot) {}) // an old snapshot still shows the question
		if got := w.only(); got.State != client.PendingAnswered {
			t.Errorf("an older reading raised the question again: %+v", got)
		}
	})
}

func TestUnreadableSessionAfterAnAnswerEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		a := w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		id := w.only().ID
		a.unread = runtime.ErrRuntimeUnavailable
		_, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "1", By: "anna"})
		if !errors.Is(err, client.ErrTimeout) || !strings.Contains(err.Error(), "cannot be read") {
			t.Fatalf("got %v, want a time-out that says that nothing could be read", err)
		}
		if _, err = w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "1"}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("another answer without a reading between got %v, want a refusal", err)
		}
		w.read("a")
		if got := w.only(); got.State != client.PendingAnswered || got.AnsweredBy != "anna" {
			t.Errorf("after the reading: %+v, want it answered by anna", got)
		}
	})
}

func TestQuestionStaysOpenIfTheDriverRefusesTheAnswer(t *testing.T) {
	for refusal, want := range map[error]error{
		runtime.ErrInteractionUnsupported:                        client.ErrUnsupported,
		&runtime.AnswerError{Action: runtime.ActionText}:         client.ErrUnsupported,
		&runtime.Error{Op: "x", Err: runtime.ErrStaleInstance}:   client.ErrRefused,
		&runtime.Error{Op: "x", Err: runtime.ErrInteractionGone}: client.ErrRefused,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newServiceTest(t)
			a := w.agent("a")
			w.run()
			w.raiseQuestion("a", permission("r1"))
			a.refuse = refusal
			id := w.only().ID
			start := time.Now()
			if _, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "1"}); !errors.Is(err, want) || !errors.Is(err, refusal) || time.Since(start) != 0 {
				t.Errorf("%v became %v after %v, want %v at once", refusal, err, time.Since(start), want)
			}
			a.refuse = nil
			w.readAfterAnswers("a")
			if _, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "1"}); err != nil {
				t.Errorf("the next answer got %v, want it accepted", err)
			}
		})
	}
}

func TestAnswerWithUnknownEffectIsConfirmedBeforeAnother(t *testing.T) {
	broken := errors.New("connection reset")
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		a := w.agent("a")
		var sensed []string
		w.opts.Sense = func(name string) { sensed = append(sensed, name) }
		w.run()
		w.raiseQuestion("a", permission("r1"))
		a.refuse = broken
		id := w.only().ID
		var all sync.WaitGroup
		all.Go(func() {
			_, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "1", By: "anna"})
			if !errors.Is(err, client.ErrTimeout) || !errors.Is(err, broken) || !strings.Contains(err.Error(), "still open") {
				t.Errorf("got %v, want a time-out with the cause", err)
			}
		})
		servicetest.Advance(time.Second)
		if _, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "2"}); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "by anna") {
			t.Errorf("another answer before the session was read got %v, want a refusal", err)
		}
		all.Wait()
		if !slices.Equal(sensed, []string{"s-a"}) {
			t.Errorf("readings were requested of %v, want s-a", sensed)
		}
	})
}

func TestQuestionIsOpenWhileAnAnswerIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		a := w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		id := w.only().ID
		a.slow = make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			if got, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "1", By: "anna"}); err != nil || got.State != client.PendingAnswered {
				t.Errorf("the answer: %+v, %v; want it answered", got, err)
			}
		})
		servicetest.Advance(time.Second)
		if _, err := w.questions.Respond(t.Context(), id, client.RespondRequest{Option: "2"}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("another answer got %v, want a refusal", err)
		}
		w.Change("a", func(v *session.Snapshot) { v.Pending, v.ReadAt = nil, time.Now() }) // the agent has got the keys
		if got := w.only(); got.State != client.PendingOpen {
			t.Errorf("while the answer is sent it is %s, want it open", got.State)
		}
		close(a.slow)
		all.Wait()
	})
}
