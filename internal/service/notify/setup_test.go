package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/notification"
	"gascity/internal/domain/session"
	"gascity/internal/redact"
	"gascity/internal/service/notify/answers"
	"gascity/test/storetest"
)

// town is a city with questions, for tests of the engine.
type town struct {
	t      testing.TB
	stores storetest.Stores
	store  *storetest.Faulty
	events event.Log

	secrets *redact.Redactor
	now     func() time.Time
	delay   time.Duration // of Question
	early   func()        // is called between New and the first configuration; nil: nothing is

	answers  *answers.Service // nil: there are no answer buttons
	answerTo func(context.Context) string

	mu         sync.Mutex
	questions  []client.Pending
	unread     error         // of Question
	slowAnswer time.Duration // of Respond, after the question has ended
	attached   map[string]bool

	engine *Engine
	stop   func()
}

func newTown(t testing.TB) *town {
	stores := storetest.Memory(time.Now)
	return &town{t: t, stores: stores, store: storetest.NewFaulty(stores), events: stores.Events, attached: map[string]bool{}, secrets: &redact.Redactor{}, now: time.Now}
}

// Pending implements City.
func (c *town) Pending(context.Context, string, client.Which) ([]client.Pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.questions), func(p client.Pending) bool { return p.State != client.PendingOpen }), nil
}

// Question implements City.
func (c *town) Question(_ context.Context, id string) (client.Pending, error) {
	time.Sleep(c.delay)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unread != nil {
		return client.Pending{}, c.unread
	}
	for _, p := range c.questions {
		if p.ID == id {
			return p, nil
		}
	}
	return client.Pending{}, client.ErrNotFound
}

// Snapshot implements City.
func (c *town) Snapshot(name string) (session.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attached[name] {
		return session.Snapshot{Session: name, Attached: 1}, nil
	}
	return session.Snapshot{Session: name}, nil
}

// ask saves a question and appends its event.
func (c *town) ask(agent, text string) string {
	id := c.askUnreported(agent, text)
	c.emit(event.PendingRaised, agent, "id", id, "kind", "question")
	return id
}

// askUnreported is ask without the event, as after a kill that lost it.
func (c *town) askUnreported(agent, text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := "q-" + strconv.Itoa(len(c.questions)+1)
	c.questions = append(c.questions, client.Pending{
		ID: id, Agent: agent, Session: "s-" + agent, Kind: "question", Prompt: text, Options: []string{"Yes", "No"}, Since: time.Now(), State: client.PendingOpen,
	})
	return id
}

// answer ends a question.
func (c *town) answer(id string) {
	c.mu.Lock()
	var agent string
	for i := range c.questions {
		if c.questions[i].ID == id {
			c.questions[i].State, agent = client.PendingAnswered, c.questions[i].Agent
		}
	}
	c.mu.Unlock()
	c.emit(event.PendingAnswered, agent, "id", id)
}

func (c *town) emit(kind event.Kind, agent string, data ...string) {
	c.t.Helper()
	e := client.Event{Kind: string(kind), Agent: agent, Session: "s-" + agent, Text: agent + ": " + string(kind), Data: map[string]string{}}
	for i := 0; i < len(data); i += 2 {
		e.Data[data[i]] = data[i+1]
	}
	if _, err := c.events.Append(c.t.Context(), e); err != nil {
		c.t.Error(err)
	}
}

// noLink is the link of every message: there is no web console.
func noLink(context.Context, string, string) string { return "" }

// start runs an engine with the settings. The end of the test stops it.
func (c *town) start(s Settings) {
	c.t.Helper()
	c.startWith(s, nil)
}

// startWith is start with devices of the web console.
func (c *town) startWith(s Settings, devices []client.WebDevice) {
	c.t.Helper()
	c.engine = New(Options{City: c, Store: c.store, Events: c.events, Logger: slog.New(slog.DiscardHandler), Now: c.now, Root: "/town", Secrets: c.secrets, Link: noLink, Answers: c.answers, AnswerTo: c.answerTo})
	c.engine.SetDevices(devices)
	if c.early != nil {
		c.early()
	}
	c.engine.Configure(s)
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	done := make(chan error, 1)
	go func() { done <- c.engine.Run(ctx) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Errorf("Run returned %v", err)
		}
	})
	c.t.Cleanup(c.stop)
}

// fakeSender records messages. answer decides about each; nil: it confirms them.
type fakeSender struct {
	mu     sync.Mutex
	sent   []Message // all tries
	answer func(ctx context.Context, try int, m *Message) error
}

// Send implements Sender.
func (f *fakeSender) Send(ctx context.Context, m *Message) error {
	f.mu.Lock()
	f.sent = append(f.sent, *m)
	try := len(f.sent)
	f.mu.Unlock()
	if f.answer == nil {
		return nil
	}
	return f.answer(ctx, try, m)
}

// tries returns the messages of all tries.
func (f *fakeSender) tries() []Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sent)
}

// titles returns the titles of all tries.
func (f *fakeSender) titles() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for i := range f.sent {
		out = append(out, f.sent[i].Title)
	}
	return out
}

// settings returns a configuration with one sink that gets everything.
func settings(sender Sender, edit ...func(*notification.Rule)) Settings {
	rule := notification.Rule{Sink: "x", Kinds: slices.Concat(notification.NeedsMe.Kinds(), notification.Finished.Kinds())}
	for _, change := range edit {
		change(&rule)
	}
	return Settings{Sinks: []Sink{{Name: "x", Type: "fake", Timeout: 10 * time.Second, Sender: sender}}, Rules: []notification.Rule{rule}}
}

// states returns "sink state tries" of each delivery, sorted.
func (c *town) states() []string {
	c.t.Helper()
	all, err := c.stores.Notifications.Deliveries(c.t.Context())
	if err != nil {
		c.t.Error(err)
	}
	var out []string
	for _, d := range all {
		out = append(out, fmt.Sprintf("%s %s %s %d", d.Subject.ID, d.Sink, d.State, d.Tries))
	}
	slices.Sort(out)
	return out
}

// devices returns "subject device state" of each delivery, sorted.
func (c *town) devices() []string {
	c.t.Helper()
	all, err := c.stores.Notifications.Deliveries(c.t.Context())
	if err != nil {
		c.t.Error(err)
	}
	var out []string
	for _, d := range all {
		out = append(out, fmt.Sprintf("%s %s %s", d.Subject.ID, d.Device, d.State))
	}
	slices.Sort(out)
	return out
}

// configured reports whether the engine has applied its first configuration.
func (c *town) configured() bool {
	state, err := c.stores.Notifications.NotificationState(c.t.Context())
	return err == nil && len(state.Sinks) > 0
}

// clientTest returns a request for a test message to all sinks.
func clientTest() client.NotifyTestRequest { return client.NotifyTestRequest{} }

// wantStates compares the stored deliveries.
func (c *town) wantStates(want ...string) {
	c.t.Helper()
	if got := c.states(); !slices.Equal(got, want) {
		c.t.Errorf("the ledger is %q, want %q", got, want)
	}
}

// inTown runs a test with a clock that only moves when all goroutines wait.
func inTown(t *testing.T, test func(t *testing.T, c *town)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newTown(t)
		test(t, c)
		if c.stop != nil {
			c.stop()
		}
	})
}

var errDown = errors.New("the service is down")

// questionIDs returns the ids of the questions in a message of the type webhook.
func questionIDs(body []byte) (ids []string) {
	var m Message
	if json.Unmarshal(body, &m) != nil {
		return nil
	}
	for i := range m.Items {
		ids = append(ids, m.Items[i].Question)
	}
	return ids
}

// eventually waits until a condition holds, at most 20 s.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			tick.Stop()
			t.Fatal("it did not happen within 20 s")
		}
	}
}
