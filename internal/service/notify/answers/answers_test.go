package answers_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/service/notify/answers"
	"gascity/internal/service/questions"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// asker is an agent that asks, as a driver shows it. It gets answers by Respond.
type asker struct {
	runtime.Provider // nil

	mu      sync.Mutex
	asks    *runtime.PendingInteraction
	got     []string // the answers
	ignores bool     // an answer has no effect
	refuses error    // of Respond
	reread  func()   // called after an answer
}

func (a *asker) Pending(string) (*runtime.PendingInteraction, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asks, nil
}

func (a *asker) Respond(_ string, r runtime.InteractionResponse) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.refuses != nil:
		return a.refuses
	case a.asks == nil || a.asks.RequestID != r.RequestID:
		return runtime.ErrInteractionGone
	}
	a.got = append(a.got, r.Text)
	if !a.ignores {
		a.asks = nil
		go a.reread()
	}
	return nil
}

// bench is a city with one agent that asks, questions and answers.
type bench struct {
	*servicetest.City
	agent      *asker
	questions  *questions.Service
	answers    *answers.Service
	file       string
	recipients []answers.Recipient
	log        bytes.Buffer
	number     int // of questions
}

// The recipients of a bench.
var (
	phone = answers.Recipient{Sink: "phone", Post: true}
	chat  = answers.Recipient{Sink: "chat"}
)

func inBench(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{City: servicetest.New(t), agent: &asker{}, file: filepath.Join(dir, "answers.json"), recipients: []answers.Recipient{phone, chat}}
		b.agent.reread = func() { b.read() }
		b.Add("a", func(v *session.Snapshot) { v.Provider = b.agent })
		b.questions = questions.New(questions.Options{City: b, Store: b.Store, Events: b.Log, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Random: rand.Text, Policy: func(string) questions.Policy { return questions.Policy{} }, Sense: func(string) {}, Notify: func(context.Context, client.Pending) error { return nil }})
		b.Start(b.questions)
		b.restart()
		test(t, b)
		b.Stop()
	})
}

// restart makes a new service with the same file, as the next controller does.
func (b *bench) restart() {
	b.answers = answers.New(answers.Options{
		File: b.file, Questions: b.questions, Events: b.Log, Logger: slog.New(slog.NewTextHandler(&b.log, nil)), Now: time.Now,
		Recipients: func() []answers.Recipient { return b.recipients },
	})
}

// read makes the city read the session.
func (b *bench) read() {
	b.questions.SessionChanged(b.Edit("a", func(v *session.Snapshot) {
		b.agent.mu.Lock()
		defer b.agent.mu.Unlock()
		v.Pending, v.ReadAt = b.agent.asks, time.Now()
	}))
}

// ask makes the agent ask, and returns the question. The agent may have asked before.
func (b *bench) ask(options ...string) client.Pending {
	b.T.Helper()
	b.number++
	b.agent.mu.Lock()
	b.agent.asks = &runtime.PendingInteraction{RequestID: fmt.Sprint("r", b.number), Kind: runtime.WaitQuestion, Prompt: "Proceed?", Options: options}
	b.agent.mu.Unlock()
	servicetest.Advance(time.Millisecond)
	b.read()
	synctest.Wait()
	open, err := b.questions.Pending(b.T.Context(), "", client.OnlyOpen)
	if err != nil || len(open) != 1 {
		b.T.Fatalf("the questions are %+v, %v", open, err)
	}
	return open[0]
}

// buttons returns the tokens of a question.
func (b *bench) buttons(to answers.Recipient, p client.Pending) []string {
	b.T.Helper()
	var tokens []string
	for i, button := range b.answers.Buttons(to, &p, 8) {
		if button.Option != i {
			b.T.Errorf("button %d is of option %d", i, button.Option)
		}
		tokens = append(tokens, button.Token)
	}
	if len(tokens) != len(p.Options) {
		b.T.Fatalf("%q has %d buttons", p.Options, len(tokens))
	}
	return tokens
}

// press answers with a token that arrives by POST.
func (b *bench) press(token string) (client.Pending, error) {
	return b.answers.Answer(b.T.Context(), answers.Press{Token: token})
}

// refused returns the reasons of the refused presses so far.
func (b *bench) refused() []string {
	events, _, err := b.Log.After(b.T.Context(), 0)
	if err != nil {
		b.T.Error(err)
	}
	var reasons []string
	for _, e := range events {
		if e.Kind == string(event.NotifyAnswerRefused) {
			reasons = append(reasons, e.Data["reason"])
		}
	}
	return reasons
}

// want checks the answers of the agent, and why presses were refused.
func (b *bench) want(got []string, reasons ...answers.Reason) {
	b.T.Helper()
	b.agent.mu.Lock()
	defer b.agent.mu.Unlock()
	if !slices.Equal(b.agent.got, got) {
		b.T.Errorf("the agent got %q, want %q", b.agent.got, got)
	}
	var want []string
	for _, r := range reasons {
		want = append(want, string(r))
	}
	if refused := b.refused(); !slices.Equal(refused, want) {
		b.T.Errorf("presses were refused because of %q, want %q", refused, want)
	}
}

// TestAButtonAnswersItsQuestion: the agent gets the option of the button, once, and events name the sink.
func TestAButtonAnswersItsQuestion(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		tokens := b.buttons(phone, b.ask("Yes", "No, and say why", "3"))
		p, err := b.press(tokens[1])
		if err != nil || p.State != client.PendingAnswered || p.Answer != "No, and say why" || p.AnsweredBy != "button of phone" {
			t.Errorf("the press returned %+v, %v", p, err)
		}
		for _, token := range []string{tokens[1], tokens[0]} {
			if again, err := b.press(token); !errors.Is(err, client.ErrRefused) || again.ID != p.ID {
				t.Errorf("another press returned %+v, %v", again, err)
			}
		}
		b.want([]string{"No, and say why"}, answers.Replayed, answers.Superseded)
		if kinds := b.Kinds(); !slices.Equal(kinds, []string{"pending.raised", "notify.answer", "pending.answered", "notify.answer_refused", "notify.answer_refused"}) {
			t.Errorf("the events are %q", kinds)
		}
	})
}

// TestForgedTokens: no token that the city did not make for this recipient and this way answers.
func TestForgedTokens(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		first := b.ask("Yes", "No")
		tokens := b.buttons(phone, first)
		inChat := b.buttons(chat, first)
		part := func(i int, text string) string {
			all := strings.Split(tokens[0], ".")
			all[i] = text
			return strings.Join(all, ".")
		}
		mac := strings.Split(tokens[1], ".")[4]
		for name, press := range map[string]answers.Press{
			"nothing":                     {},
			"garbage":                     {Token: "hello"},
			"long":                        {Token: strings.Repeat("a.", 1<<20)},
			"another question":            {Token: part(0, "q-aaaaaaaa")},
			"another option":              {Token: part(1, "2")},
			"no option":                   {Token: part(1, "0")},
			"another label":               {Token: part(2, "AAAAAAAA")},
			"a later end":                 {Token: part(3, "zzzzzz")},
			"another signature":           {Token: part(4, mac)},
			"no signature":                {Token: part(4, "")},
			"a short signature":           {Token: tokens[0][:len(tokens[0])-1]},
			"written differently":         {Token: part(1, "01")},
			"of the chat, by POST":        {Token: inChat[0]},
			"by POST, in the chat":        {Token: tokens[0], Sink: "chat"},
			"by POST, from its own sink":  {Token: tokens[0], Sink: "phone"},
			"of the chat, another sink":   {Token: inChat[0], Sink: "phone"},
			"of the chat, with a newline": {Token: inChat[0] + "\n", Sink: "chat"},
		} {
			b.restart() // with a full bucket
			p, err := b.answers.Answer(t.Context(), press)
			if !errors.Is(err, client.ErrForbidden) || p.ID != "" {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
		}
		b.recipients = []answers.Recipient{chat} // the sink was removed, or lost answer = true
		if _, err := b.press(tokens[0]); !errors.Is(err, client.ErrForbidden) {
			t.Errorf("after the removal of the sink: %v", err)
		}
		b.recipients = nil
		if _, err := b.press(tokens[0]); !errors.Is(err, client.ErrForbidden) {
			t.Errorf("without any sink: %v", err)
		}
		b.want(nil, slices.Repeat([]answers.Reason{answers.Forged}, 19)...)
		events, _, err := b.Log.After(t.Context(), 0)
		if err != nil || slices.ContainsFunc(events, func(e client.Event) bool { return e.Data["reason"] == string(answers.Forged) && e.Data["id"] != "" }) {
			t.Errorf("an event has what a forged token names: %+v, %v", events, err)
		}
		b.recipients = []answers.Recipient{phone, chat}
		if _, err := b.answers.Answer(t.Context(), answers.Press{Token: inChat[0], Sink: "chat", By: "anna"}); err != nil {
			t.Errorf("the token of the chat: %v", err)
		}
		if p, err := b.questions.Question(t.Context(), first.ID); err != nil || p.AnsweredBy != "anna (button of chat)" {
			t.Errorf("it was answered by %q, %v", p.AnsweredBy, err)
		}
	})
}

// TestATokenOfAnotherCity: the key of each city differs.
func TestATokenOfAnotherCity(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		asked := b.ask("Yes", "No")
		own := b.buttons(phone, asked)[0]
		b.file += ".other"
		b.restart()
		foreign := b.buttons(phone, asked)[0]
		b.file = strings.TrimSuffix(b.file, ".other")
		b.restart()
		if _, err := b.press(foreign); !errors.Is(err, client.ErrForbidden) {
			t.Errorf("a token of another city: %v", err)
		}
		if _, err := b.press(own); err != nil {
			t.Errorf("the own token after a restart: %v", err)
		}
		b.want([]string{"Yes"}, answers.Forged)
	})
}

func TestExpiredTokens(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		p := b.ask("Yes", "No")
		tokens := b.buttons(phone, p)
		servicetest.Advance(answers.Life + time.Second)
		if _, err := b.press(tokens[0]); !errors.Is(err, client.ErrForbidden) || !strings.Contains(err.Error(), "expired") {
			t.Errorf("an old token: %v", err)
		}
		b.want(nil, answers.Expired)
		p.Until = time.Now().Add(time.Minute) // the agent waits no longer
		tokens = b.buttons(phone, p)
		servicetest.Advance(2 * time.Minute)
		if _, err := b.press(tokens[0]); !errors.Is(err, client.ErrForbidden) {
			t.Errorf("after the agent stopped waiting: %v", err)
		}
		if more := b.answers.Buttons(phone, &p, 8); more != nil {
			t.Errorf("a question whose agent waits no longer has the buttons %v", more)
		}
	})
}

// TestAnsweredElsewhere: a button is dead at once when its question is answered at the terminal, by another person, or when the
// agent asks something else.
func TestAnsweredElsewhere(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, b *bench, p client.Pending){
		"by gc respond": func(t *testing.T, b *bench, p client.Pending) {
			if _, err := b.questions.Respond(t.Context(), p.ID, client.RespondRequest{Option: "No", By: "anna"}); err != nil {
				t.Fatal(err)
			}
		},
		"at the terminal": func(_ *testing.T, b *bench, _ client.Pending) {
			b.agent.mu.Lock()
			b.agent.asks = nil
			b.agent.mu.Unlock()
			servicetest.Advance(time.Millisecond)
			b.read()
			synctest.Wait()
		},
		"another question": func(_ *testing.T, b *bench, _ client.Pending) { b.ask("Yes", "No") },
		"a new instance": func(_ *testing.T, b *bench, _ client.Pending) {
			b.Change("a", func(v *session.Snapshot) { v.Instance, v.Pending, v.ReadAt = "a-2", nil, time.Now() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBench(t, func(t *testing.T, b *bench) {
				p := b.ask("Yes", "No")
				tokens := b.buttons(phone, p)
				end(t, b, p)
				before := slices.Clone(b.agent.got)
				if again, err := b.press(tokens[0]); !errors.Is(err, client.ErrRefused) || again.ID != p.ID {
					t.Errorf("the press returned %+v, %v", again, err)
				}
				b.want(before, answers.Superseded)
			})
		})
	}
}

// TestChangedOptions: a dialog that shows other times keeps its id; a button whose label has changed does not answer.
func TestChangedOptions(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		p := b.ask("Wait 5s", "Stop")
		tokens := b.buttons(phone, p)
		if next := b.ask("Wait 4s", "Stop"); next.ID != p.ID {
			t.Fatalf("the id was %s and is %s", p.ID, next.ID)
		}
		if _, err := b.press(tokens[0]); !errors.Is(err, client.ErrRefused) {
			t.Errorf("a button with another label: %v", err)
		}
		if _, err := b.press(tokens[1]); err != nil {
			t.Errorf("a button with the same label: %v", err)
		}
		b.want([]string{"Stop"}, answers.Superseded)
	})
}

// TestButtonsAtOnce: of all buttons of all sinks that are pressed at once, each twice, exactly one answers.
func TestButtonsAtOnce(t *testing.T) {
	for range 20 { // the order of goroutines differs
		inBench(t, func(t *testing.T, b *bench) {
			p := b.ask("Yes", "No")
			posted, inChat := b.buttons(phone, p), b.buttons(chat, p)
			done := make(chan error)
			presses := []answers.Press{{Token: posted[0]}, {Token: posted[1]}, {Token: inChat[0], Sink: "chat", By: "anna"}, {Token: inChat[1], Sink: "chat", By: "otto"}}
			presses = append(presses, presses...)
			for _, press := range presses {
				go func() {
					_, err := b.answers.Answer(t.Context(), press)
					done <- err
				}()
			}
			answered := 0
			for range presses {
				switch err := <-done; {
				case err == nil:
					answered++
				case !errors.Is(err, client.ErrRefused):
					t.Errorf("a press returned %v", err)
				}
			}
			if answered != 1 || len(b.agent.got) != 1 || len(b.refused()) != len(presses)-1 {
				t.Errorf("%d presses answered, the agent got %q, %d were refused", answered, b.agent.got, len(b.refused()))
			}
		})
	}
}

// TestAnUnconfirmedAnswerIsNotRepeated: the button of an answer whose effect is unknown cannot be used again, also by the next
// controller, although the question is open. The button of an answer that was not sent can.
func TestAnUnconfirmedAnswerIsNotRepeated(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		p := b.ask("Yes", "No")
		tokens := b.buttons(phone, p)
		b.agent.ignores = true
		if _, err := b.press(tokens[0]); !errors.Is(err, client.ErrTimeout) {
			t.Fatalf("an answer without effect: %v", err)
		}
		servicetest.Advance(time.Minute)
		b.restart()
		if _, err := b.press(tokens[0]); !errors.Is(err, client.ErrRefused) {
			t.Errorf("the second press: %v", err)
		}
		b.want([]string{"Yes"}, answers.Replayed)
		b.agent.refuses = runtime.ErrInteractionUnsupported
		if _, err := b.press(tokens[1]); !errors.Is(err, client.ErrUnsupported) {
			t.Errorf("an answer that cannot be sent: %v", err)
		}
		b.agent.refuses, b.agent.ignores = nil, false
		b.restart()
		if _, err := b.press(tokens[1]); err != nil {
			t.Errorf("the second press of a button that had answered nothing: %v", err)
		}
	})
}

// TestUsedButtonsStayUsed: a button whose effect is unknown stays used also after other buttons were pressed, until it expires.
func TestUsedButtonsStayUsed(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		p := b.ask("Yes", "No")
		tokens := b.buttons(phone, p)
		b.agent.ignores = true
		for _, token := range tokens {
			if _, err := b.press(token); !errors.Is(err, client.ErrTimeout) {
				t.Fatalf("an answer without effect: %v", err)
			}
		}
		b.restart()
		for _, token := range tokens {
			if _, err := b.press(token); !errors.Is(err, client.ErrRefused) {
				t.Errorf("the second press: %v", err)
			}
		}
		b.want([]string{"Yes", "No"}, answers.Replayed, answers.Replayed)
		servicetest.Advance(answers.Life + time.Second)
		if _, err := b.press(b.buttons(phone, p)[0]); !errors.Is(err, client.ErrTimeout) {
			t.Fatalf("a new button: %v", err)
		}
		var saved struct{ Used map[string]time.Time }
		text, err := os.ReadFile(b.file)
		if err == nil {
			err = json.Unmarshal(text, &saved)
		}
		if err != nil || len(saved.Used) != 1 {
			t.Errorf("the file has %d used buttons, want only the one that has not expired: %v", len(saved.Used), err)
		}
	})
}

// TestAButtonThatAnsweredNothing: a button whose answer was refused before anything was sent can be pressed again.
func TestAButtonThatAnsweredNothing(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		token := b.buttons(phone, b.ask("Yes", "No"))[0]
		busy := &busyQuestions{Service: b.questions, fails: func() error { return fmt.Errorf("%w: it is being answered by anna", client.ErrRefused) }}
		b.answers = answers.New(answers.Options{
			File: b.file, Questions: busy, Events: b.Log, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
			Recipients: func() []answers.Recipient { return b.recipients },
		})
		if _, err := b.press(token); !errors.Is(err, client.ErrRefused) {
			t.Errorf("while another answer is being sent: %v", err)
		}
		busy.fails = func() error { return nil }
		if _, err := b.press(token); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		b.want([]string{"Yes"}, answers.Superseded)
	})
}

// TestAPressWaitsForItsAgent: a controller that has just started cannot reach an agent yet. A press waits for that, at most some seconds, and
// is never answered twice.
func TestAPressWaitsForItsAgent(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		token := b.buttons(phone, b.ask("Yes", "No"))[0]
		var reached time.Time
		busy := &busyQuestions{Service: b.questions, fails: func() error {
			if time.Now().Before(reached) {
				return fmt.Errorf("%w: its provider is being opened", client.ErrUnavailable)
			}
			return nil
		}}
		b.answers = answers.New(answers.Options{
			File: b.file, Questions: busy, Events: b.Log, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
			Recipients: func() []answers.Recipient { return b.recipients },
		})
		began := time.Now()
		reached = began.Add(time.Hour)
		if _, err := b.press(token); !errors.Is(err, client.ErrUnavailable) || time.Since(began) > 10*time.Second {
			t.Errorf("an agent that cannot be reached: %v after %v", err, time.Since(began))
		}
		ended, end := context.WithCancel(t.Context())
		end()
		began = time.Now()
		if _, err := b.answers.Answer(ended, answers.Press{Token: token}); err == nil || time.Since(began) > 0 {
			t.Errorf("a press whose caller is gone: %v after %v", err, time.Since(began))
		}
		b.want(nil)
		reached = time.Now().Add(2 * time.Second)
		if p, err := b.press(token); err != nil || p.Answer != "Yes" || time.Now().Before(reached) {
			t.Errorf("an agent that is reached after two seconds: %+v, %v", p, err)
		}
		b.want([]string{"Yes"})
	})
}

// busyQuestions are questions that cannot be answered while fails returns an error.
type busyQuestions struct {
	*questions.Service
	fails func() error
}

// Respond implements answers.Questions.
func (q *busyQuestions) Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error) {
	if err := q.fails(); err != nil {
		return client.Pending{}, err
	}
	return q.Service.Respond(ctx, id, req)
}

// TestTokensOfDevices: the token of a device is valid only while this device may answer, even if other devices may.
func TestTokensOfDevices(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		lost, own := answers.Recipient{Sink: "push", Device: "d-1", Post: true}, answers.Recipient{Sink: "push", Device: "d-2", Post: true}
		b.recipients = []answers.Recipient{lost, own}
		p := b.ask("Yes", "No")
		stolen, token := b.buttons(lost, p)[0], b.buttons(own, p)[1]
		b.recipients = []answers.Recipient{own}
		if _, err := b.press(stolen); !errors.Is(err, client.ErrForbidden) {
			t.Errorf("the token of a device that was revoked: %v", err)
		}
		if _, err := b.press(token); err != nil {
			t.Errorf("the token of the other device: %v", err)
		}
		b.want([]string{"No"}, answers.Forged)
	})
}

// TestWithoutARecordThereIsNoAnswer: a press that cannot be saved, or not be recorded, answers nothing, and can be repeated.
func TestWithoutARecordThereIsNoAnswer(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		p := b.ask("Yes", "No")
		tokens := b.buttons(phone, p)
		b.answers = answers.New(answers.Options{
			File: b.file, Questions: b.questions, Events: failingLog{b.Log}, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
			Recipients: func() []answers.Recipient { return b.recipients },
		})
		if _, err := b.press(tokens[0]); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("without events: %v", err)
		}
		b.restart()
		b.buttons(phone, p) // reads the key
		dir := filepath.Dir(b.file)
		if err := os.Rename(dir, dir+".gone"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.press(tokens[0]); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("without its file: %v", err)
		}
		b.want(nil)
		if err := os.Rename(dir+".gone", dir); err != nil {
			t.Fatal(err)
		}
		if _, err := b.press(tokens[0]); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		b.want([]string{"Yes"})
	})
}

// failingLog is a log that cannot be written.
type failingLog struct{ event.Log }

// Append implements event.Log.
func (failingLog) Append(context.Context, client.Event) (client.Event, error) {
	return client.Event{}, client.ErrUnavailable
}

// TestTheKeyFile: the key is made once, with mode 0600, and only when it is needed. A file that others can read, or that is
// damaged, is replaced, and the buttons from before are refused.
func TestTheKeyFile(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		p := b.ask("Yes", "No")
		b.recipients = nil
		if _, err := b.press("q-aaaaaaaa.1.AAAAAAAA.zzzzzz.AAAAAAAAAAAAAAAAAAAAAA"); !errors.Is(err, client.ErrForbidden) {
			t.Error(err)
		}
		if got := b.answers.Buttons(phone, &p, 8); got != nil {
			t.Errorf("without a sink there are the buttons %v", got)
		}
		if _, err := os.Stat(b.file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without a sink there is a file: %v", err)
		}
		b.recipients = []answers.Recipient{phone}
		token := b.buttons(phone, p)[0]
		if info, err := os.Stat(b.file); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("the file: %v, %v", info, err)
		}
		b.restart()
		if again := b.buttons(phone, p)[0]; strings.Split(again, ".")[4] == "" || again != token {
			t.Errorf("after a restart at the same time the token is %q, want %q", again, token)
		}
		for name, damage := range map[string]func() error{
			"others can read it": func() error { return os.Chmod(b.file, 0o644) }, //nolint:gosec // the test
			"garbage":            func() error { return os.WriteFile(b.file, []byte("{"), 0o600) },
			"a short key":        func() error { return os.WriteFile(b.file, []byte(`{"key":"AAAA"}`), 0o600) },
			"it is a link": func() error {
				return errors.Join(os.Rename(b.file, b.file+".real"), os.Symlink(b.file+".real", b.file))
			},
		} {
			token := b.buttons(phone, p)[0]
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			b.log.Reset()
			b.restart()
			if _, err := b.press(token); !errors.Is(err, client.ErrForbidden) {
				t.Errorf("%s: the old button: %v", name, err)
			}
			if info, err := os.Lstat(b.file); err != nil || info.Mode() != 0o600 || !strings.Contains(b.log.String(), "new key") {
				t.Errorf("%s: the file is %v, %v; the log is %s", name, info, err, b.log.String())
			}
		}
		b.want(nil, slices.Repeat([]answers.Reason{answers.Forged}, 5)...)
	})
}

// TestWhichQuestionsHaveButtons: too many options, none, equal ones, and a question that is over have no buttons.
func TestWhichQuestionsHaveButtons(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		open := client.Pending{ID: "q-abcdefgh", State: client.PendingOpen, Options: []string{"Yes", "No"}}
		over, dotted, long := open, open, open
		over.State, dotted.ID, long.ID = client.PendingResolved, "q-abc.efgh", "q-"+strings.Repeat("a", 60)
		with := func(options ...string) client.Pending {
			p := open
			p.Options = options
			return p
		}
		for name, c := range map[string]struct {
			asked client.Pending
			want  int
		}{
			"two": {open, 2}, "over": {over, 0}, "none": {with(), 0}, "too many": {with("a", "b", "c", "d"), 0}, "three": {with("a", "b", "c"), 3},
			"equal": {with("a", "b", "a"), 0}, "numbers": {with("1", "2"), 2}, "other numbers": {with("2", "1"), 0}, "empty": {with("a", " "), 0}, "a strange id": {dotted, 0}, "a long id": {long, 0},
		} {
			buttons := b.answers.Buttons(phone, &c.asked, 3)
			if len(buttons) != c.want {
				t.Errorf("%s: %v, want %d", name, buttons, c.want)
			}
			for _, button := range buttons {
				if len(button.Token) > answers.MaxToken {
					t.Errorf("%s: the token %q has %d bytes", name, button.Token, len(button.Token))
				}
			}
		}
	})
}

// TestManyRefusedPresses: they cost few events, and a genuine button works all the same.
func TestManyRefusedPresses(t *testing.T) {
	inBench(t, func(t *testing.T, b *bench) {
		token := b.buttons(phone, b.ask("Yes", "No"))[0]
		for range 1000 {
			_, err := b.press("hello")
			if err == nil {
				t.Fatal("garbage answers")
			}
		}
		if _, err := b.press("hello"); !errors.Is(err, client.ErrTooMany) {
			t.Errorf("after many: %v", err)
		}
		if n := len(b.refused()); n != 20 {
			t.Errorf("there are %d events", n)
		}
		if _, err := b.press(token); err != nil {
			t.Errorf("the genuine button: %v", err)
		}
	})
}
