package questions

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// An input box that is blocked is listed and reported like a question, no policy answers it, and
// its option empties the box. An agent whose box cannot be emptied stays listed.
func TestBlockedInputBoxIsAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		cleared, fails := 0, errors.New("the box still holds [pasted 3]")
		w.opts.Policy = func(string) Policy { return Policy{Mode: Answer, After: time.Minute, Answer: "1"} }
		clearInput := func(context.Context, runtime.InteractionResponse) error {
			cleared++
			if fails != nil {
				return fails
			}
			w.Change("a", func(v *session.Snapshot) { v.CityQuestion, v.AnswerCityQuestion, v.ReadAt = nil, nil, time.Now() })
			return nil
		}
		w.run()
		w.Change("a", func(v *session.Snapshot) {
			v.ReadAt, v.AnswerCityQuestion = time.Now(), clearInput
			v.CityQuestion = &runtime.PendingInteraction{RequestID: "input_blocked/a-1", Kind: client.PendingInputBlocked, Prompt: "blocked", Options: []string{"clear the input box"}}
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		if asked := w.only(); cleared != 0 || len(w.notified) == 0 || asked.Kind != client.PendingInputBlocked {
			t.Fatalf("after an hour it was cleared %d times and reported %d times; want 0 and at least 1", cleared, len(w.notified))
		}
		if _, err := w.questions.Respond(t.Context(), w.only().ID, client.RespondRequest{Option: "1"}); !errors.Is(err, fails) || w.only().State != client.PendingOpen {
			t.Errorf("a box that stays blocked: %v", err)
		}
		fails = nil
		got, err := w.questions.Respond(t.Context(), w.only().ID, client.RespondRequest{Option: "1", By: "anna"})
		if err != nil || got.State != client.PendingAnswered || cleared != 2 {
			t.Errorf("the answer: %+v, %v; cleared %d times", got, err, cleared)
		}
	})
}
