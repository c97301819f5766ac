package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/event"
	"gascity/internal/service/notify/answers"
)

// Respond implements answers.Questions.
func (c *town) Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error) {
	c.mu.Lock()
	i := slices.IndexFunc(c.questions, func(p client.Pending) bool { return p.ID == id })
	if i < 0 || c.questions[i].State != client.PendingOpen {
		c.mu.Unlock()
		return client.Pending{}, client.ErrRefused
	}
	c.questions[i].Answer, c.questions[i].AnsweredBy = req.Option, req.By
	slow := c.slowAnswer
	c.mu.Unlock()
	c.answer(id)
	time.Sleep(slow)
	return c.Question(ctx, id)
}

// withAnswers makes the town accept answers from the sink x.
func (c *town) withAnswers(post bool) {
	c.answers = answers.New(answers.Options{
		File: filepath.Join(c.t.TempDir(), "answers.json"), Questions: c, Events: c.events, Logger: slog.New(slog.DiscardHandler), Now: c.now,
		Recipients: func() []answers.Recipient { return []answers.Recipient{{Sink: "x", Post: post}} },
	})
}

// withButtons is settings whose sink has answer buttons.
func withButtons(sender Sender, most int) Settings {
	s := settings(sender)
	s.Sinks[0].Buttons = most
	return s
}

// TestMessagesWithButtons: a message about one question has a button for each option, which answers it. Others have none.
func TestMessagesWithButtons(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		c.withAnswers(true)
		address := "https://box.example/answer"
		c.answerTo = func(context.Context) string { return address }
		c.start(withButtons(x, 2))
		synctest.Wait()
		c.ask("a", "?")
		synctest.Wait()
		m := x.sent[0]
		if len(m.Buttons) != 2 || m.Buttons[0].Label != "1. Yes" || m.Buttons[1].Label != "2. No" || m.AnswerTo != address {
			t.Fatalf("the message is %+v", m)
		}
		if text, err := json.Marshal(m); err != nil || strings.Contains(string(text), m.Buttons[0].Token) || strings.Contains(string(text), address) {
			t.Errorf("commands and webhooks get the token: %s, %v", text, err)
		}
		if p, err := c.answers.Answer(t.Context(), answers.Press{Token: m.Buttons[1].Token}); err != nil || p.Answer != "No" {
			t.Errorf("the button answers %+v, %v", p, err)
		}
		c.engine.Configure(withButtons(x, 1))
		c.ask("b", "more options than buttons")
		synctest.Wait()
		c.engine.Configure(settings(x))
		c.ask("c", "without answer = true")
		synctest.Wait()
		c.engine.Configure(withButtons(x, 2))
		address = ""
		c.ask("d", "the web console is off")
		synctest.Wait()
		address = "https://box.example/answer"
		for i := range 5 {
			c.ask(fmt.Sprint("e", i), "many at once are one message")
		}
		synctest.Wait()
		for _, m := range x.sent[1:] {
			if len(m.Items) == 1 && strings.HasPrefix(m.Items[0].Agent, "e") {
				continue // it was sent before the others asked
			}
			if len(m.Buttons) > 0 {
				t.Errorf("the message %q has the buttons %+v", m.Text, m.Buttons)
			}
		}
	})
}

// fakeListener is a sender that receives presses.
type fakeListener struct {
	fakeSender
	state *listenerState
}

// listenerState is what the senders of one sink share.
type listenerState struct {
	mu       sync.Mutex
	runs     int // goroutines at this moment
	most     int // at the same moment
	begun    int
	finished []string
	presses  chan SinkPress
	replies  chan string
	slow     time.Duration // how long a goroutine takes to stop
}

// Send implements Sender.
func (f *fakeListener) Send(ctx context.Context, m *Message) error {
	err := f.fakeSender.Send(ctx, m)
	if len(m.Buttons) > 0 && err == nil {
		m.Sent = &SentMessage{Chat: 1, ID: int64(len(f.sent)), Text: m.Title}
	}
	return err
}

// Listen implements Listener.
func (f *fakeListener) Listen(ctx context.Context, press func(context.Context, SinkPress) (string, bool), _ func(error)) {
	s := f.state
	s.mu.Lock()
	s.begun++
	s.runs++
	s.most = max(s.most, s.runs)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.runs--
	}()
	for {
		select {
		case p := <-s.presses:
			reply, _ := press(ctx, p)
			s.replies <- reply
		case <-ctx.Done():
			time.Sleep(s.slow)
			return
		}
	}
}

// Finish implements Listener.
func (f *fakeListener) Finish(_ context.Context, m SentMessage, outcome string) error {
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	f.state.finished = append(f.state.finished, fmt.Sprintf("%d: %s", m.ID, outcome))
	return nil
}

// ended returns which messages were finished.
func (s *listenerState) ended() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.finished)
}

// now returns how many goroutines receive presses.
func (s *listenerState) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs
}

// TestPressesAreReceivedWhileAQuestionIsOpen: and for ten minutes afterwards; a new configuration changes the reader, with never two
// at once; the end of the engine waits for it.
func TestPressesAreReceivedWhileAQuestionIsOpen(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		state := &listenerState{presses: make(chan SinkPress), replies: make(chan string, 1), slow: time.Second}
		c.withAnswers(false)
		c.start(withButtons(&fakeListener{state: state}, 8))
		time.Sleep(time.Hour)
		if state.begun != 0 {
			t.Error("presses are received without a question")
		}
		first := c.ask("a", "?")
		time.Sleep(2 * time.Hour)
		if state.now() != 1 || state.begun != 1 {
			t.Errorf("with a question there are %d readers, %d began", state.now(), state.begun)
		}
		c.answer(first)
		time.Sleep(listenAfter - time.Minute)
		if state.now() != 1 {
			t.Error("presses are not received after the question")
		}
		time.Sleep(2 * time.Minute)
		if state.now() != 0 {
			t.Error("presses are received long after the question")
		}
		c.ask("b", "?")
		for range 3 { // each configuration has a new sender
			synctest.Wait()
			c.engine.Configure(withButtons(&fakeListener{state: state}, 8))
		}
		time.Sleep(10 * time.Second)
		if state.now() != 1 || state.most != 1 {
			t.Errorf("after new configurations there are %d readers, at most %d at once", state.now(), state.most)
		}
		c.engine.Configure(settings(&fakeListener{state: state}))
		time.Sleep(10 * time.Second)
		if state.now() != 0 {
			t.Error("presses are received without answer = true")
		}
		c.engine.Configure(withButtons(&fakeListener{state: state}, 8))
		time.Sleep(10 * time.Second)
		c.stop()
		if state.now() != 0 {
			t.Error("the engine did not wait for its reader")
		}
		if ended := state.ended(); !slices.Equal(ended, []string{"1: The question is not open any more."}) {
			t.Errorf("finished %q", ended)
		}
	})
}

// TestPressesAnswer: a press answers, and the message loses its buttons; the message of a question that ended otherwise too.
func TestPressesAnswer(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		state := &listenerState{presses: make(chan SinkPress), replies: make(chan string, 1)}
		c.withAnswers(false)
		l := &fakeListener{state: state}
		c.start(withButtons(l, 8))
		synctest.Wait()
		c.ask("a", "?")
		synctest.Wait()
		state.presses <- SinkPress{Token: l.sent[0].Buttons[0].Token, By: "user 7"}
		if reply := <-state.replies; !strings.Contains(reply, "answer_users") {
			t.Errorf("a person who may not answer gets %q", reply)
		}
		state.presses <- SinkPress{Token: l.sent[0].Buttons[0].Token, By: "user 7", Allowed: true, Message: &SentMessage{Chat: 1, ID: 1, Text: "a"}}
		if reply := <-state.replies; reply != "Answered: Yes\nby user 7 (button of x)" {
			t.Errorf("the reply is %q", reply)
		}
		other := c.ask("b", "?")
		synctest.Wait()
		if _, err := c.Respond(t.Context(), other, client.RespondRequest{Option: "No", By: "anna"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		state.presses <- SinkPress{Token: l.sent[1].Buttons[0].Token, Allowed: true, Message: &SentMessage{Chat: 1, ID: 2, Text: "b"}}
		if reply := <-state.replies; !strings.Contains(reply, "not open any more") {
			t.Errorf("a late press gets %q", reply)
		}
		synctest.Wait()
		want := []string{"1: Answered: Yes\nby user 7 (button of x)", "2: Answered: No\nby anna"}
		if ended := state.ended(); !slices.Equal(ended, want) {
			t.Errorf("finished %q, want %q", ended, want)
		}
	})
}

// TestMessageIsFinishedOnce: the message of a question is finished once, even if that happens before the press that answered the
// question has returned. A message that only the press knows, because the controller was restarted, is finished too.
func TestMessageIsFinishedOnce(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		state := &listenerState{presses: make(chan SinkPress), replies: make(chan string, 1)}
		c.withAnswers(false)
		c.slowAnswer = time.Second
		l := &fakeListener{state: state}
		c.start(withButtons(l, 8))
		synctest.Wait()
		c.ask("a", "?")
		synctest.Wait()
		for _, id := range []int64{1, 1, 7} {
			state.presses <- SinkPress{Token: l.sent[0].Buttons[0].Token, By: "user 7", Allowed: true, Message: &SentMessage{Chat: 1, ID: id, Text: "a"}}
			<-state.replies
		}
		synctest.Wait()
		want := []string{"1: Answered: Yes\nby user 7 (button of x)", "7: Answered: Yes\nby user 7 (button of x)"}
		if ended := state.ended(); !slices.Equal(ended, want) {
			t.Errorf("finished %q, want %q", ended, want)
		}
	})
}

// TestButtonsOfAQuestionThatCannotBeRead: a message keeps its buttons while it is not known whether its question has ended.
func TestButtonsOfAQuestionThatCannotBeRead(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		state := &listenerState{presses: make(chan SinkPress), replies: make(chan string, 1)}
		c.withAnswers(false)
		c.start(withButtons(&fakeListener{state: state}, 8))
		synctest.Wait()
		id := c.ask("a", "?")
		synctest.Wait()
		set := func(err error) {
			c.mu.Lock()
			c.unread = err
			c.mu.Unlock()
			c.emit(event.SessionExited, "b") // the engine looks at its messages again
			time.Sleep(time.Second)
		}
		set(client.ErrUnavailable)
		set(nil)
		if ended := state.ended(); len(ended) > 0 {
			t.Errorf("the message of an open question lost its buttons: %q", ended)
		}
		c.answer(id)
		time.Sleep(time.Second)
		if ended := state.ended(); len(ended) != 1 {
			t.Errorf("finished %q", ended)
		}
	})
}

// TestNtfyButtons: at most three, in the limit of the size of a message; without an address there are none.
func TestNtfyButtons(t *testing.T) {
	t.Parallel()
	body := func(m *Message) (out struct {
		Message string
		Actions []struct{ Method, URL, Body string }
	},
	) {
		text, err := json.Marshal(ntfyBody(&config.Notify{}, m))
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil || len(text) > 4500 {
			t.Errorf("the body has %d bytes, %v", len(text), err)
		}
		return out
	}
	m := message(strings.Repeat("long ", 5000))
	for i := range 3 {
		m.Buttons = append(m.Buttons, Button{Label: fmt.Sprintf("%d. %s", i+1, strings.Repeat("x", maxButton)), Token: strings.Repeat("t", answers.MaxToken)})
	}
	if out := body(m); len(out.Actions) != 0 {
		t.Errorf("without an address there are %+v", out.Actions)
	}
	m.AnswerTo = "https://box.example/answer"
	if out := body(m); len(out.Actions) != 3 || out.Actions[2].Body != `{"token":"`+strings.Repeat("t", answers.MaxToken)+`"}` || out.Actions[2].URL != m.AnswerTo {
		t.Errorf("the buttons are %+v", out.Actions)
	}
	for kind, want := range map[config.NotifyType]int{config.NotifyNtfy: 3, config.NotifyTelegram: 8, config.NotifySlack: 0} {
		n := &config.Notify{Type: kind, Answer: true}
		if got := NewSink(n, Environment{}).Buttons; got != want {
			t.Errorf("%s has %d buttons, want %d", kind, got, want)
		}
		n.Answer = false
		if got := NewSink(n, Environment{}).Buttons; got != 0 {
			t.Errorf("%s has %d buttons without answer = true", kind, got)
		}
	}
}
