package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/service/notify/answers"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/citytest"
	"gascity/test/tier"
)

// botToken is the token of the bot.
const botToken = "123:bot-canary-token"

// fakeTelegram is a server of the bot API of Telegram with one bot.
type fakeTelegram struct {
	t   *testing.T
	url string

	mu       sync.Mutex
	fails    int // the status of every answer; zero: it works
	messages []*chatMessage
	updates  []object
	number   int // of updates so far
	changed  chan struct{}
	polls    int // getUpdates so far
	polling  int // getUpdates at this moment
	most     int // getUpdates at the same moment
	replies  map[string]reply
}

type object = map[string]any

// reply is the reply to a press.
type reply struct {
	text  string
	alert bool
}

// chatMessage is a message in the chat.
type chatMessage struct {
	id      int
	text    string
	buttons []chatButton
}

type chatButton struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

func newTelegram(t *testing.T) *fakeTelegram {
	t.Helper()
	f := &fakeTelegram{t: t, changed: make(chan struct{}), replies: map[string]reply{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// telegramRequest has the parameters of all methods.
type telegramRequest struct {
	Chat      any    `json:"chat_id"`
	Message   int    `json:"message_id"`
	Text      string `json:"text"`
	ParseMode string `json:"parse_mode"`
	Markup    struct {
		Rows [][]chatButton `json:"inline_keyboard"`
	} `json:"reply_markup"`
	Offset  int      `json:"offset"`
	Timeout int      `json:"timeout"`
	Limit   int      `json:"limit"`
	Allowed []string `json:"allowed_updates"`
	Press   string   `json:"callback_query_id"`
	Alert   bool     `json:"show_alert"`
}

// ServeHTTP implements http.Handler.
func (f *fakeTelegram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+botToken+"/")
	body, err := io.ReadAll(r.Body)
	var in telegramRequest
	if !ok || err != nil || json.Unmarshal(body, &in) != nil || in.ParseMode != "" {
		f.t.Errorf("%s %s: %s, %v", r.Method, r.URL.Path, body, err)
		http.Error(w, `{"ok":false}`, http.StatusNotFound)
		return
	}
	f.mu.Lock()
	fails := f.fails
	f.mu.Unlock()
	var result any = true
	switch {
	case fails != 0:
		w.WriteHeader(fails)
		_, _ = io.WriteString(w, `{"ok":false,"description":"Conflict: terminated by other getUpdates request, bot`+botToken+`"}`)
		return
	case method == "getUpdates":
		result = f.getUpdates(r.Context(), in)
	case method == "sendMessage":
		result = f.send(in)
	case method == "editMessageText":
		f.edit(in)
	case method == "answerCallbackQuery":
		f.mu.Lock()
		f.replies[in.Press] = reply{in.Text, in.Alert}
		f.mu.Unlock()
		if len([]rune(in.Text)) > 200 {
			f.t.Errorf("the reply has %d characters", len([]rune(in.Text)))
		}
	default:
		f.t.Errorf("the method is %s", method)
	}
	_ = json.NewEncoder(w).Encode(object{"ok": true, "result": result}) // the client may be gone
}

func (f *fakeTelegram) getUpdates(ctx context.Context, in telegramRequest) []object {
	confirms := in.Timeout == 0 && in.Offset > 0 // at the end of listening
	if in.Timeout < 10 && !confirms || !slices.Equal(in.Allowed, []string{"callback_query"}) {
		f.t.Errorf("the poll is %+v", in)
	}
	f.awaitEndOfPoll()
	f.mu.Lock()
	f.polls++
	f.polling++
	f.most = max(f.most, f.polling)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.polling--
	}()
	for timeout := time.After(time.Duration(in.Timeout) * time.Second); ; {
		f.mu.Lock()
		f.updates = slices.DeleteFunc(f.updates, func(u object) bool { return u["update_id"].(int) < in.Offset })
		out, changed := slices.Clone(f.updates[:min(len(f.updates), in.Limit)]), f.changed
		f.mu.Unlock()
		if len(out) > 0 {
			return out
		}
		select {
		case <-changed:
		case <-timeout:
			return []object{}
		case <-ctx.Done():
			return nil
		}
	}
}

// awaitEndOfPoll waits, for at most a second, until no poll is in progress: the client may have ended its last one, and this
// server does not know it yet.
func (f *fakeTelegram) awaitEndOfPoll() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Second); time.Now().Before(end); <-tick.C {
		f.mu.Lock()
		polling := f.polling
		f.mu.Unlock()
		if polling == 0 {
			return
		}
	}
}

func (f *fakeTelegram) send(in telegramRequest) object {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := &chatMessage{id: len(f.messages) + 1, text: in.Text, buttons: slices.Concat(in.Markup.Rows...)}
	f.messages = append(f.messages, m)
	for _, b := range m.buttons {
		if len(b.Data) > 64 {
			f.t.Errorf("the data of a button has %d bytes", len(b.Data))
		}
	}
	return object{"message_id": m.id, "chat": object{"id": -1007}, "text": m.text}
}

func (f *fakeTelegram) edit(in telegramRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.messages[in.Message-1]
	if in.Chat != float64(-1007) {
		f.t.Errorf("the chat of an edit is %v", in.Chat)
	}
	m.text, m.buttons = in.Text, slices.Concat(in.Markup.Rows...)
}

// press presses a button as a user, and returns the id of the press.
func (f *fakeTelegram) press(m chatMessage, button int, user int64) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number++
	id := fmt.Sprint("press-", f.number)
	f.updates = append(f.updates, object{"update_id": 1000 + f.number, "callback_query": object{
		"id": id, "from": object{"id": user, "username": "user\n" + fmt.Sprint(user)}, "data": m.buttons[button].Data,
		"message": object{"message_id": m.id, "chat": object{"id": -1007}, "text": m.text},
	}})
	close(f.changed)
	f.changed = make(chan struct{})
	return id
}

// message returns the state of a message. n begins with 1.
func (f *fakeTelegram) message(n int) chatMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > len(f.messages) {
		return chatMessage{}
	}
	return *f.messages[n-1]
}

// counts returns how many polls there were, and how many at the same moment at most.
func (f *fakeTelegram) counts() (polls, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polls, f.most
}

// awaitMessage returns a message when it has so many buttons.
func (f *fakeTelegram) awaitMessage(city *citytest.City, n, buttons int) (m chatMessage) {
	city.Until(fmt.Sprintf("message %d has %d buttons", n, buttons), func(context.Context) bool {
		m = f.message(n)
		return m.id > 0 && len(m.buttons) == buttons
	})
	return m
}

// awaitReply returns the reply to a press.
func (f *fakeTelegram) awaitReply(city *citytest.City, press string) (r reply) {
	city.Until("the press has a reply", func(context.Context) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		var ok bool
		r, ok = f.replies[press]
		return ok
	})
	return r
}

// telegramConfig is a city with an agent and a bot whose buttons the users 7 and 8 may press.
func telegramConfig(url string, ask bool) string {
	script := fake.Script{}
	if ask {
		script.Ask = &runtime.PendingInteraction{Kind: runtime.WaitQuestion, Prompt: "May I?", Options: []string{"Yes", "No"}}
	}
	return "[daemon]\nshutdown_timeout = \"50ms\"\n[[agents]]\nname = \"worker\"\nstart_command = '''" + script.Command() + "'''\n" +
		"[[notify]]\nname = \"chat\"\ntype = \"telegram\"\nurl = \"" + url + "\"\ntoken = \"" + botToken + "\"\nchat = \"-1007\"\non = [\"needs_me\"]\nanswer = true\nanswer_users = [\"7\", \"8\"]\n"
}

// refusals returns why presses were refused.
func refusals(t *testing.T, city *citytest.City) (reasons []string) {
	t.Helper()
	page, err := city.Client.PastEvents(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Events {
		if e.Kind == "notify.answer_refused" {
			reasons = append(reasons, e.Data["reason"])
		}
	}
	return reasons
}

// TestTelegramButtons: only listed users answer, once; of two at once one does; the message says how it ended and has no buttons.
func TestTelegramButtons(t *testing.T) {
	tier.Process(t)
	f := newTelegram(t)
	city := citytest.New(t, telegramConfig(f.url, true))
	m := f.awaitMessage(city, 1, 2)
	if m.buttons[0].Text != "1. Yes" || m.buttons[1].Text != "2. No" || !strings.Contains(m.text, "May I?") {
		t.Errorf("the message is %+v", m)
	}
	if r := f.awaitReply(city, f.press(m, 0, 666)); !r.alert || !strings.Contains(r.text, "answer_users") {
		t.Errorf("another user gets the reply %+v", r)
	}
	forged := m
	forged.buttons = []chatButton{{Data: strings.Replace(m.buttons[0].Data, ".1.", ".2.", 1)}, {Data: "hello"}, {}}
	for i := range forged.buttons {
		if r := f.awaitReply(city, f.press(forged, i, 7)); !r.alert || !strings.Contains(r.text, "not valid") {
			t.Errorf("a forged press gets the reply %+v", r)
		}
	}
	if calls := city.Agents.Calls("Respond"); len(calls) != 0 || len(f.message(1).buttons) != 2 {
		t.Fatalf("the agent got %+v", calls)
	}
	presses := []string{f.press(m, 1, 7), f.press(m, 0, 8), f.press(m, 1, 7)}
	var answered int
	for _, p := range presses {
		if r := f.awaitReply(city, p); !r.alert && strings.HasPrefix(r.text, "Answered: No") {
			answered++
		}
	}
	if calls := city.Agents.Calls("Respond"); len(calls) != 1 || answered != 1 || calls[0].Args[0].(runtime.InteractionResponse).Text != "No" {
		t.Errorf("%d presses answered, the agent got %+v", answered, calls)
	}
	if m = f.awaitMessage(city, 1, 0); !strings.Contains(m.text, "May I?") || !strings.Contains(m.text, "\n\nAnswered: No\nby telegram user 7 @user 7 (button of chat)") {
		t.Errorf("the message is %q", m.text)
	}
	if got := refusals(t, city); !slices.Equal(got, []string{"not_listed", "forged", "forged", "forged", "superseded", "replayed"}) {
		t.Errorf("presses were refused because of %q", got)
	}
	began := time.Now()
	city.Leave() // in the middle of a poll
	took := time.Since(began)
	if _, most := f.counts(); took > 5*time.Second || most != 1 {
		t.Errorf("the controller needed %v to exit; at most %d polls at once", took, most)
	}
}

// TestTelegramIsPolledForQuestionsOnly: without a question there is no poll. A question that is answered elsewhere takes the buttons
// from its message. A press on a message from before a restart answers, and the buttons go too. A token of the chat is not accepted
// by the web console.
func TestTelegramIsPolledForQuestionsOnly(t *testing.T) {
	tier.Process(t)
	f := newTelegram(t)
	city := citytest.New(t, telegramConfig(f.url, false)+"[web]\nenabled = true\n")
	city.AwaitRunning("worker", "idle")
	if _, err := city.Client.TestNotify(t.Context(), client.NotifyTestRequest{}); err != nil {
		t.Fatal(err)
	}
	if polls, _ := f.counts(); polls > 0 {
		t.Fatalf("without a question there are %d polls", polls)
	}
	ask := func() client.Pending {
		if _, err := city.Client.Nudge(t.Context(), "worker", client.NudgeRequest{Text: "[[ask:Proceed?|yes|no]]"}); err != nil {
			t.Fatal(err)
		}
		var asked client.Pending
		city.Until("the agent asks", func(ctx context.Context) bool {
			list, err := city.Client.Pending(ctx, "", client.OnlyOpen)
			if len(list) == 1 {
				asked = list[0]
			}
			return err == nil && len(list) == 1
		})
		return asked
	}
	asked := ask()
	m := f.awaitMessage(city, 2, 2) // the first one was the test
	if _, err := city.Client.Respond(t.Context(), asked.ID, client.RespondRequest{Option: "no", By: "anna"}); err != nil {
		t.Fatal(err)
	}
	if edited := f.awaitMessage(city, 2, 0); !strings.HasSuffix(edited.text, "Answered: no\nby anna") {
		t.Errorf("after an answer elsewhere the message is %q", edited.text)
	}
	if r := f.awaitReply(city, f.press(m, 0, 7)); !r.alert || !strings.Contains(r.text, "not open any more") {
		t.Errorf("a late press gets the reply %+v", r)
	}
	ask()
	m = f.awaitMessage(city, 3, 2)
	on, err := city.Client.Web(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(answers.Request{Token: m.buttons[0].Data})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(on.URL, "/")+answers.Path, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("the web console answers the token of the chat with %s", res.Status)
	}
	city.Leave()
	press := f.press(m, 0, 8) // while no controller runs
	city.Start()
	if r := f.awaitReply(city, press); r.alert || !strings.HasPrefix(r.text, "Answered: yes") {
		t.Errorf("after a restart the reply is %+v", r)
	}
	if edited := f.awaitMessage(city, 3, 0); !strings.Contains(edited.text, "Answered: yes") {
		t.Errorf("after a restart the message is %q", edited.text)
	}
}

// TestTelegramThatFails: failed polls are reported without the token, tried again with a growing delay, and end with the next success.
func TestTelegramThatFails(t *testing.T) {
	tier.Process(t)
	f := newTelegram(t)
	city := citytest.New(t, telegramConfig(f.url, true))
	m := f.awaitMessage(city, 1, 2)
	f.mu.Lock()
	f.fails = http.StatusConflict
	close(f.changed)
	f.changed = make(chan struct{})
	f.mu.Unlock()
	failure := func() string {
		list, err := city.Client.Notifications(t.Context())
		if err != nil || len(list.Sinks) != 1 {
			t.Fatalf("the list is %+v, %v", list, err)
		}
		return list.Sinks[0].AnswerError
	}
	f.press(m, 0, 7) // wakes the poll, whose next one fails
	city.Until("the failure is reported", func(context.Context) bool { return failure() != "" })
	if text := failure(); !strings.Contains(text, "terminated by other getUpdates request") || strings.Contains(text, "canary") {
		t.Errorf("the failure is %q", text)
	}
	f.mu.Lock()
	f.fails = 0
	f.mu.Unlock()
	city.Until("the failure is over", func(context.Context) bool { return failure() == "" })
}
