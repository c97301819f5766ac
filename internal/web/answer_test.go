package web_test

import (
	"context"
	"encoding/json"
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
	"gascity/internal/web"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/citytest"
)

// ntfyMessage is a message that a fake ntfy server received.
type ntfyMessage struct {
	Topic   string `json:"topic"`
	Message string `json:"message"`
	Click   string `json:"click"`
	Actions []struct {
		Action, Label, URL, Method, Body string
		Headers                          map[string]string
		Clear                            bool
	} `json:"actions"`
}

// ntfy is a fake ntfy server.
type ntfy struct {
	url string

	mu       sync.Mutex
	messages []ntfyMessage
}

func newNtfy(t *testing.T) *ntfy {
	t.Helper()
	n := &ntfy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m ntfyMessage
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.messages = append(n.messages, m)
		_, _ = io.WriteString(w, `{"id":"x"}`) // the client may be gone
	}))
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

// await returns the newest message when there are n.
func (s *ntfy) await(city *citytest.City, n int) (m ntfyMessage) {
	city.Until("ntfy has the messages", func(context.Context) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.messages) >= n {
			m = s.messages[n-1]
		}
		return len(s.messages) >= n
	})
	return m
}

// buttonConfig is a city whose agent asks, and whose questions are sent by ntfy with answer buttons. Its address is that of a
// proxy in front of the listener.
func buttonConfig(ntfyURL string) string {
	asks := fake.Script{Ask: &runtime.PendingInteraction{Kind: runtime.WaitPermission, Prompt: "May I?", Options: []string{"Yes", "No"}}}.Command()
	return "[daemon]\nshutdown_timeout = \"50ms\"\n[web]\nenabled = true\nurl = \"https://box.example\"\nhosts = [\"box.example\"]\n" +
		"[[agents]]\nname = \"worker\"\nstart_command = '''" + asks + "'''\n" +
		"[[notify]]\nname = \"phone\"\ntype = \"ntfy\"\nurl = \"" + ntfyURL + "\"\ntopic = \"t\"\nanswer = true\non = [\"needs_me\"]\n"
}

// asApp makes a request that of the app of ntfy: it has no cookie, no Origin and no Sec-Fetch-Site.
func asApp(r *http.Request) {
	for _, h := range []string{"Cookie", web.KeyHeader, "Origin", "Sec-Fetch-Site"} {
		r.Header.Del(h)
	}
}

// open returns the only open question.
func open(t *testing.T, city *citytest.City) client.Pending {
	t.Helper()
	list, err := city.Client.Pending(t.Context(), "", client.OnlyOpen)
	if err != nil || len(list) != 1 {
		t.Fatalf("the questions are %+v, %v", list, err)
	}
	return list[0]
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

// An answer button of ntfy answers its question once, from an app that has no device, also after a restart of the controller.
// Nothing but its POST does, and nothing signs the app in.
func TestAnAnswerButtonOfNtfy(t *testing.T) {
	service := newNtfy(t)
	city := citytest.New(t, buttonConfig(service.url))
	m := service.await(city, 1)
	if len(m.Actions) != 2 || m.Click == "" {
		t.Fatalf("the message is %+v", m)
	}
	for i, label := range []string{"1. Yes", "2. No"} {
		a := m.Actions[i]
		if a.Action != "http" || a.Method != http.MethodPost || a.URL != "https://box.example/answer" || a.Label != label || !a.Clear || a.Headers["Content-Type"] != "application/json" {
			t.Errorf("button %d is %+v", i, a)
		}
	}
	body := m.Actions[0].Body
	var in answers.Request
	if err := json.Unmarshal([]byte(body), &in); err != nil || in.Token == "" || strings.Contains(m.Click+m.Message, in.Token) {
		t.Fatalf("the body is %q, %v", body, err)
	}
	asked := open(t, city)
	b := newBrowser(t, city)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		for _, path := range []string{answers.Path, answers.Path + "?token=" + in.Token, answers.Path + "/" + in.Token} {
			if res := b.request(method, path, body, asApp); res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 {
				t.Errorf("%s %s answers %s with the cookies %v", method, path, res.Status, res.Cookies())
			}
		}
	}
	if res := b.request(http.MethodPost, answers.Path+"?token="+in.Token, `{}`, asApp); res.StatusCode != http.StatusForbidden {
		t.Errorf("a token in the address answers %s", res.Status)
	}
	city.Leave()
	b.http.CloseIdleConnections()
	city.Start()
	b = newBrowser(t, city)
	if still := open(t, city); still.ID != asked.ID || len(city.Agents.Calls("Respond")) != 0 {
		t.Fatalf("before the press the question is %+v", still)
	}
	res := b.request(http.MethodPost, answers.Path, body, asApp, func(r *http.Request) { r.Host = "box.example" })
	if text := b.text(res); res.StatusCode != http.StatusOK || text != `{"question":"`+asked.ID+`","state":"answered"}`+"\n" || len(res.Cookies()) > 0 {
		t.Errorf("the press answers %s: %s, with the cookies %v", res.Status, text, res.Cookies())
	}
	for i, want := range []int{http.StatusConflict, http.StatusConflict} {
		if res := b.request(http.MethodPost, answers.Path, m.Actions[i].Body, asApp); res.StatusCode != want || strings.Contains(b.text(res), in.Token) {
			t.Errorf("another press answers %s", res.Status)
		}
	}
	if calls := city.Agents.Calls("Respond"); len(calls) != 1 || calls[0].Args[0].(runtime.InteractionResponse).Text != "Yes" {
		t.Errorf("the agent got %+v", calls)
	}
	all, err := city.Client.Pending(t.Context(), "", client.WithEnded)
	if err != nil || len(all) != 1 || all[0].Answer != "Yes" || all[0].AnsweredBy != "button of phone" {
		t.Errorf("the question is %+v, %v", all, err)
	}
	if got := refusals(t, city); !slices.Equal(got, []string{"forged", "replayed", "superseded"}) {
		t.Errorf("presses were refused because of %q", got)
	}
}

// A button is dead within a second when its question is answered elsewhere. Of two that are pressed at once one answers.
func TestAnAnswerButtonThatIsTooLate(t *testing.T) {
	service := newNtfy(t)
	city := citytest.New(t, buttonConfig(service.url))
	m := service.await(city, 1)
	if _, err := city.Client.Respond(t.Context(), open(t, city).ID, client.RespondRequest{Option: "No", By: "anna"}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	b := newBrowser(t, city)
	if res := b.request(http.MethodPost, answers.Path, m.Actions[0].Body, asApp); res.StatusCode != http.StatusConflict || time.Since(began) > time.Second {
		t.Errorf("after an answer elsewhere the press answers %s after %v", res.Status, time.Since(began))
	}
	if _, err := city.Client.Nudge(t.Context(), "worker", client.NudgeRequest{Text: "[[ask:Proceed?|yes|no]]"}); err != nil {
		t.Fatal(err)
	}
	m = service.await(city, 2)
	results := make(chan int)
	for i := range 8 {
		go func() { results <- b.request(http.MethodPost, answers.Path, m.Actions[i%2].Body, asApp).StatusCode }()
	}
	codes := map[int]int{}
	for range 8 {
		codes[<-results]++
	}
	if calls := city.Agents.Calls("Respond"); len(calls) != 2 || codes[http.StatusOK] != 1 || codes[http.StatusConflict] != 7 {
		t.Errorf("the presses answer %v, the agent got %+v", codes, calls)
	}
}

// Every attack of the table on the route of answer buttons is refused before its genuine token is read. The token answers afterwards.
func TestAttacksWithAGenuineToken(t *testing.T) {
	service := newNtfy(t)
	city := citytest.New(t, buttonConfig(service.url))
	m := service.await(city, 1)
	own := signIn(t, city, client.ScopeManage)
	a := newAttacker(t, city, own, "")
	var in answers.Request
	if err := json.Unmarshal([]byte(m.Actions[1].Body), &in); err != nil {
		t.Fatal(err)
	}
	a.targets = []target{answerTarget(in.Token)}
	for _, f := range a.run() {
		t.Error(f)
	}
	if n := len(city.Agents.Calls("Respond")); n != 0 {
		t.Fatalf("attacks answered %d times", n)
	}
	open(t, city)
	if res := own.request(http.MethodPost, answers.Path, m.Actions[1].Body); res.StatusCode != http.StatusOK {
		t.Errorf("the page of this origin, such as its service worker, gets %s", res.Status)
	}
}

// A sink that loses answer = true accepts no button that it sent before.
func TestAnswerButtonsAreTurnedOff(t *testing.T) {
	service := newNtfy(t)
	config := buttonConfig(service.url)
	city := citytest.New(t, config)
	m := service.await(city, 1)
	b := newBrowser(t, city)
	city.Write(strings.Replace(config, "answer = true\n", "", 1))
	awaitReloads(t, city, 1)
	if res := b.request(http.MethodPost, answers.Path, m.Actions[0].Body, asApp); res.StatusCode != http.StatusForbidden {
		t.Errorf("without answer = true the press answers %s", res.Status)
	}
	city.Write(config)
	awaitReloads(t, city, 2)
	if res := b.request(http.MethodPost, answers.Path, m.Actions[0].Body, asApp); res.StatusCode != http.StatusOK {
		t.Errorf("with answer = true the press answers %s", res.Status)
	}
}

// awaitReloads waits until the configuration was loaded again n times.
func awaitReloads(t *testing.T, city *citytest.City, n int) {
	t.Helper()
	city.Until("the configuration is active", func(ctx context.Context) bool {
		page, err := city.Client.PastEvents(ctx, 0)
		reloads := slices.DeleteFunc(page.Events, func(e client.Event) bool { return e.Kind != "controller.reloaded" })
		return err == nil && len(reloads) >= n
	})
}
