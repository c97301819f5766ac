package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/event"
	"gascity/internal/domain/notification"
	"gascity/internal/domain/session"
	"gascity/internal/store"
	"gascity/test/tier"
)

// The variables of the process that is killed.
const (
	killedFile = "GC_TEST_NOTIFY_FILE" // its database
	killedURL  = "GC_TEST_NOTIFY_URL"  // the service
	killedName = "GC_TEST_NOTIFY_NAME" // a part of the ids of its questions
	killedPush = "GC_TEST_NOTIFY_PUSH" // a pushSetup as JSON: it notifies devices; empty: a webhook
	killsVar   = "GC_KILLS"
)

// killedTimeout is the limit of a request. A slow machine must not exceed it, because a request that the service confirms too late is
// repeated.
const killedTimeout = time.Minute

// storedCity has the questions of a database.
type storedCity struct{ db *store.DB }

func (c storedCity) Pending(ctx context.Context, _ string, _ client.Which) ([]client.Pending, error) {
	kept, err := c.db.LoadPending(ctx)
	var out []client.Pending
	for _, p := range kept {
		if p.State != client.PendingOpen {
			continue
		}
		out = append(out, client.Pending{ID: p.ID, Agent: p.Agent, Session: p.Session, Kind: p.Kind, Prompt: p.Prompt, Since: p.Since, State: p.State})
	}
	return out, err
}

func (c storedCity) Question(_ context.Context, id string) (client.Pending, error) {
	return client.Pending{ID: id, Agent: "a", Kind: "question", Prompt: "May I?", State: client.PendingOpen}, nil
}

func (storedCity) Snapshot(string) (session.Snapshot, error) { return session.Snapshot{}, nil }

// TestKilledProcess is the process that is killed: it asks one question after the other, saves each as the city does, and
// notifies of them until it is killed. With the name "drain" it asks nothing, and ends when every target has confirmed every question.
func TestKilledProcess(t *testing.T) {
	file := os.Getenv(killedFile)
	if file == "" {
		t.Skip("it is run by TestKills")
	}
	db, err := store.Open(t.Context(), store.Options{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	answerSent(t, db)
	e := New(Options{City: storedCity{db}, Store: db, Events: db, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Link: noLink, Root: "/town", RetryFirst: 20 * time.Millisecond, RetryLongest: 100 * time.Millisecond})
	s := settings(nil)
	s.Sinks[0] = NewSink(&config.Notify{Name: "x", Type: config.NotifyWebhook, URL: config.ParseSecret(os.Getenv(killedURL)), Timeout: killedTimeout}, Environment{})
	if text := os.Getenv(killedPush); text != "" {
		setup := &pushSetup{}
		if err := json.Unmarshal([]byte(text), setup); err != nil {
			t.Fatal(err)
		}
		setup.use(&s, e)
	}
	e.Configure(s)
	go func() { _ = e.Run(context.WithoutCancel(t.Context())) }() // until the process is killed
	eventually(t, func() bool {
		state, err := db.NotificationState(t.Context())
		return err == nil && len(state.Sinks) >= 1
	})
	fmt.Println("ready")
	if os.Getenv(killedName) == "drain" {
		eventually(t, func() bool { return allSent(t, db) })
		return
	}
	for i := range 20 { // more would be unlike a city, in which each agent has one question
		p := session.Pending{ID: fmt.Sprintf("q-%s-%d", os.Getenv(killedName), i), Session: "s", Agent: "a", Kind: "question", Prompt: "May I?", Since: time.Now(), State: client.PendingOpen}
		if err := db.SavePending(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		_, err := db.Append(t.Context(), client.Event{Kind: string(event.PendingRaised), Agent: "a", Session: "s", Text: "a asks", Data: map[string]string{"id": p.ID, "kind": "question"}})
		if err != nil {
			t.Fatal(err)
		}
		pause := time.NewTimer(time.Duration(rand.IntN(10)) * time.Millisecond) //nolint:gosec // no secret
		<-pause.C
	}
	select {} // until it is killed
}

// allSent reports whether every target has confirmed every question that is open.
func allSent(t *testing.T, db *store.DB) bool {
	t.Helper()
	sent := confirmed(t, db)
	asked, err := db.LoadPending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return !slices.ContainsFunc(asked, func(p session.Pending) bool { return p.State == client.PendingOpen && !sent[p.ID] })
}

// confirmed returns the questions that every target has confirmed. A killed process may have planned a question for the first target
// only, so the targets are those of the saved state.
func confirmed(t *testing.T, db *store.DB) map[string]bool {
	t.Helper()
	state, err := db.NotificationState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := db.Deliveries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	times, sent := map[string]int{}, map[string]bool{}
	for _, d := range all {
		if d.State == notification.Sent {
			times[d.Subject.ID]++
			sent[d.Subject.ID] = times[d.Subject.ID] == len(state.Sinks)
		}
	}
	return sent
}

// answerSent answers the questions whose notification was confirmed, so that only some questions are open at a time.
func answerSent(t *testing.T, db *store.DB) {
	t.Helper()
	sent := confirmed(t, db)
	asked, err := db.LoadPending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range asked {
		if p.State != client.PendingOpen || !sent[p.ID] {
			continue
		}
		p.State = client.PendingAnswered
		if err := db.SavePending(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Append(t.Context(), client.Event{Kind: string(event.PendingAnswered), Agent: "a", Session: "s", Data: map[string]string{"id": p.ID}}); err != nil {
			t.Fatal(err)
		}
	}
}

// killService is a service with a ledger of requests. It can announce a request before it answers it.
type killService struct {
	mu       sync.Mutex
	requests map[string]int       // by message id
	answered map[string]time.Time // when it was confirmed first
	by       map[string]int       // the process that it was confirmed to
	run      int                  // the process that runs
	saved    map[string]bool      // the messages whose confirmation a killed process has saved
	message  map[string]string    // by question and path: the message id
	wrong    []string
	hold     chan struct{}

	// read returns the id and the questions of a request.
	read  func(r *http.Request) (id string, questions []string, err error)
	paths []string // of the requests about each question
	setup string   // the value of killedPush
}

// newKillService returns a service without requests.
func newKillService() *killService {
	return &killService{
		requests: map[string]int{}, answered: map[string]time.Time{}, message: map[string]string{}, by: map[string]int{}, saved: map[string]bool{},
	}
}

func (s *killService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, questions, err := s.read(r)
	s.mu.Lock()
	if err == nil {
		s.requests[id]++
		for _, question := range questions {
			question += r.URL.Path
			if before, ok := s.message[question]; ok && before != id {
				s.wrong = append(s.wrong, fmt.Sprintf("%s was sent as %s and as %s", question, before, id))
			}
			s.message[question] = id
		}
		if _, ok := s.answered[id]; ok && s.by[id] == s.run || s.saved[id] {
			s.wrong = append(s.wrong, id+" was repeated after it was confirmed")
		}
	}
	hold, run := s.hold, s.run
	s.mu.Unlock()
	if hold != nil {
		select {
		case hold <- struct{}{}: // the process is killed now: this request is not answered
			<-r.Context().Done()
			return
		default:
		}
	}
	w.WriteHeader(http.StatusOK)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.answered[id]; !ok {
		s.answered[id], s.by[id] = time.Now(), run
	}
}

// TestKills kills a process that notifies, half of the times between the request and its answer. Afterwards no question is
// lost, none was repeated after its confirmation, and each repeated request had the id of the first.
func TestKills(t *testing.T) {
	tier.Process(t)
	s := newKillService()
	s.paths = []string{"/"}
	s.read = func(r *http.Request) (id string, questions []string, err error) {
		body, err := io.ReadAll(r.Body)
		return r.Header.Get("Idempotency-Key"), questionIDs(body), err
	}
	service := httptest.NewServer(s)
	t.Cleanup(service.Close)
	s.killAll(t, service.URL)
}

// killAll kills processes that notify the service, and then compares what was asked, sent and saved.
func (s *killService) killAll(t *testing.T, url string) {
	t.Helper()
	kills := 8
	if text := os.Getenv(killsVar); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	file := filepath.Join(t.TempDir(), "city.db")
	for i := range kills {
		s.killOne(t, i, file, url)
	}
	s.mu.Lock()
	s.run = kills
	s.mu.Unlock()
	drain := s.process(t, file, url, "drain")
	if out, err := drain.CombinedOutput(); err != nil {
		t.Fatalf("the last process: %v\n%s", err, out)
	}
	db, err := store.Open(t.Context(), store.Options{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	asked, err := db.LoadPending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := db.Deliveries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]int{}
	for _, d := range ledger {
		if d.State == notification.Sent {
			sent[d.Subject.ID]++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range asked {
		for _, path := range s.paths {
			if id := s.message[p.ID+path]; id == "" || s.answered[id].IsZero() || sent[p.ID] != len(s.paths) {
				t.Errorf("%s was lost for %s: message %q, sent %d times", p.ID, path, id, sent[p.ID])
			}
		}
	}
	for _, what := range s.wrong {
		t.Error(what)
	}
	repeated := 0
	for n := range maps.Values(s.requests) {
		repeated += n - 1
	}
	t.Logf("%d kills, %d questions in %d messages, %d requests were repeated, all with the first id", kills, len(asked), len(s.requests), repeated)
	if repeated == 0 {
		t.Error("no kill was between a request and its answer: the test proves nothing")
	}
}

// killOne starts a process and kills it: every second one between a request and its answer, the others at a random time.
func (s *killService) killOne(t *testing.T, i int, file, url string) {
	t.Helper()
	s.mu.Lock()
	s.run = i
	s.mu.Unlock()
	cmd := s.process(t, file, url, strconv.Itoa(i))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("the process wrote %q, %v", line, err)
	}
	if i%2 == 0 {
		hold := make(chan struct{})
		s.mu.Lock()
		s.hold = hold
		s.mu.Unlock()
		select {
		case <-hold:
		case <-time.After(time.Minute):
			t.Error("no request within a minute")
		}
	} else {
		<-time.After(time.Duration(rand.IntN(150)) * time.Millisecond) //nolint:gosec // no secret
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	db, err := store.Open(t.Context(), store.Options{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all, err := db.Deliveries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = nil
	for _, d := range all {
		s.saved[d.Message] = s.saved[d.Message] || d.State == notification.Sent
	}
}

// process returns this test program as the process that is killed.
func (s *killService) process(t *testing.T, file, url, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), killedFile+"="+file, killedURL+"="+url, killedName+"="+name, killedPush+"="+s.setup)
	return cmd
}
