package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// numberOf returns the value of a variable, or a default.
func numberOf(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	n := otherwise
	if text := os.Getenv(variable); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	}
	return n
}

// askedName matches the part of a question that identifies it.
var askedName = regexp.MustCompile(`q\d+\.a\d+`)

// hook is a web service that gets the notifications of a city, and records every request.
type hook struct {
	url string

	mu        sync.Mutex
	run       int                     // the controller that runs, from 0
	killed    map[int]time.Time       // when each controller was killed
	requests  map[string]int          // by message id
	confirmed map[string]confirmation // by message id: the first answer
	message   map[string]string       // by question: the message id
	arrived   map[string]time.Time    // by question: its first request
	sent      map[string]bool         // by question: its message was answered
	unsaved   []time.Duration         // of repeats after an answer: how long before the kill it was
	wrong     []string
	held      chan struct{} // not nil: closed by the next request, which is not answered
}

// confirmation is an answer of the hook.
type confirmation struct {
	run int
	at  time.Time
}

// runKey is the key of the number of the controller in the context of a connection.
type runKey struct{}

// saveLimit is how long a controller may take to save a confirmation after the service has written it.
const saveLimit = 500 * time.Millisecond

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{
		killed: map[int]time.Time{}, requests: map[string]int{}, confirmed: map[string]confirmation{}, message: map[string]string{},
		arrived: map[string]time.Time{}, sent: map[string]bool{},
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		h.mu.Lock()
		defer h.mu.Unlock()
		return context.WithValue(ctx, runKey{}, h.run)
	}
	server.Start()
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// toml returns the section of the sink.
func (h *hook) toml() string {
	return fmt.Sprintf("[[notify]]\nname = \"hook\"\ntype = \"webhook\"\nurl = %q\non = [\"question\"]\n", h.url)
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	run, _ := r.Context().Value(runKey{}).(int)
	var m struct {
		ID    string
		Items []struct{ Prompt string }
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		return // the controller was killed
	}
	var asked []string
	for _, one := range m.Items {
		asked = append(asked, askedName.FindString(one.Prompt))
	}
	held := h.record(run, now, m.ID, r.Header.Get("Idempotency-Key"), asked)
	if held != nil {
		close(held)
		<-r.Context().Done()
		return
	}
	w.WriteHeader(http.StatusNoContent)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range asked {
		h.sent[one] = true
	}
	if _, ok := h.confirmed[m.ID]; !ok {
		h.confirmed[m.ID] = confirmation{run, time.Now()}
	}
}

// record records a request, and returns the channel of the test that waits for one.
func (h *hook) record(run int, now time.Time, id, key string, asked []string) (held chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests[id]++
	if id == "" || id != key {
		h.wrong = append(h.wrong, fmt.Sprintf("the id is %q, the Idempotency-Key %q", id, key))
	}
	for _, one := range asked {
		if before := h.message[one]; before != "" && before != id {
			h.wrong = append(h.wrong, fmt.Sprintf("%s was sent as %s and as %s", one, before, id))
		}
		if h.message[one] = id; h.arrived[one].IsZero() {
			h.arrived[one] = now
		}
	}
	if c, ok := h.confirmed[id]; ok {
		before := h.killed[c.run].Sub(c.at)
		if c.run == run || before > saveLimit {
			h.wrong = append(h.wrong, fmt.Sprintf("%s was repeated by controller %d, confirmed to %d %v before its kill", id, run, c.run, before))
		} else {
			h.unsaved = append(h.unsaved, before)
		}
	}
	held, h.held = h.held, nil
	return held
}

// blockNext makes the next request wait until its controller is killed. The channel is closed when it has arrived.
func (h *hook) blockNext() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = make(chan struct{})
	return h.held
}

// isSent reports whether a message with the question was answered.
func (h *hook) isSent(question string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sent[question]
}

// arrival returns when the first request with the question arrived; zero: not yet.
func (h *hook) arrival(question string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.arrived[question]
}

// answerer answers each question that was notified, and gives each agent something new to ask.
type answerer struct {
	c     *city
	hook  *hook
	asked int // questions so far
}

// work works until ctx ends. Errors are those of a controller that is killed: what failed is done again.
func (p *answerer) work(ctx context.Context, agents int) {
	for ctx.Err() == nil {
		open, err := p.c.client.Pending(ctx, "", client.OnlyOpen)
		for i := 0; i < agents && err == nil; i++ {
			at := slices.IndexFunc(open, func(q client.Pending) bool { return q.Agent == name(i) })
			if at >= 0 {
				p.answer(ctx, open[at])
				continue
			}
			if waits, err := p.c.client.Queue(ctx, name(i), client.OnlyOpen); err == nil && len(waits) == 0 {
				p.prompt(ctx, i)
			}
		}
		pause(20 * time.Millisecond)
	}
}

func (p *answerer) answer(ctx context.Context, q client.Pending) {
	if asked := askedName.FindString(q.Prompt); asked == "" && len(q.Options) == 0 || asked != "" && !p.hook.isSent(asked) {
		return
	}
	_, _ = p.c.client.Respond(ctx, q.ID, client.RespondRequest{Option: "1"}) // the controller may be killed
}

func (p *answerer) prompt(ctx context.Context, agent int) {
	var text strings.Builder
	for range 5 {
		p.asked++
		fmt.Fprintf(&text, "[[ask:May I do q%d.%s?|Yes|No]]", p.asked, name(agent))
	}
	_, _ = p.c.client.Nudge(ctx, name(agent), client.NudgeRequest{Text: text.String()}) // the controller may be killed
}

// askedBy returns when each question was drawn, by the ledgers of the agents.
func askedBy(t *testing.T, c *city, agents int) map[string]time.Time {
	t.Helper()
	drawn := map[string]time.Time{}
	for i := range agents {
		for _, r := range ledger.Of(c.records(t, name(i)), ledger.Asked) {
			drawn[askedName.FindString(r.Dialog)] = r.Time
		}
	}
	return drawn
}

// awaitSent waits until a message with each question was answered, and returns those for which that did not happen.
func awaitSent(h *hook, drawn map[string]time.Time, limit time.Duration) (missing []string) {
	for end := time.Now().Add(limit); ; pause(20 * time.Millisecond) {
		missing = nil
		for question := range drawn {
			if !h.isSent(question) {
				missing = append(missing, question)
			}
		}
		if len(missing) == 0 || time.Now().After(end) {
			return missing
		}
	}
}

// TestNotificationsAfterKills kills the controller while agents ask and a person answers: every second time between the request to a
// web service and its answer, else at a random moment. By the ledgers of the agents and of the service, each question that an agent
// drew was sent and confirmed, none was sent again after its confirmation was saved, and each repeat had the id of the first.
func TestNotificationsAfterKills(t *testing.T) {
	const agents = 4
	kills := numberOf(t, "GC_KILLS", 10)
	h := newHook(t)
	members := make([]member, agents)
	for i := range members {
		members[i].name = name(i)
	}
	c := newCityOf(t, h.toml(), members)
	c.start()
	c.await("running", running)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	p := &answerer{c: c, hook: h}
	group.Go(func() { p.work(ctx, agents) })
	defer group.Wait()
	defer cancel()
	began := time.Now()
	for i := range kills {
		if i%2 == 0 {
			select {
			case <-h.blockNext():
			case <-time.After(waitLimit):
				t.Fatalf("after %d kills there was no request", i)
			}
		} else {
			pause(time.Duration(rand.IntN(500)) * time.Millisecond)
		}
		c.kill()
		h.mu.Lock()
		h.killed[i] = time.Now()
		h.mu.Unlock()
		pause(20 * time.Millisecond) // the service accepts the last connections of the killed controller
		h.mu.Lock()
		h.run++
		h.mu.Unlock()
		c.start()
	}
	cancel()
	group.Wait()
	c.await("adopted", running)
	drawn := askedBy(t, c, agents)
	if missing := awaitSent(h, drawn, waitLimit); len(missing) > 0 {
		t.Errorf("%d questions were lost: %v", len(missing), missing)
	}
	h.mu.Lock()
	for _, what := range h.wrong {
		t.Error(what)
	}
	repeats := 0
	for _, n := range h.requests {
		repeats += n - 1
	}
	slices.Sort(h.unsaved)
	t.Logf("%d kills in %v: %d questions in %d messages, %d requests were repeated, %d of them after an answer just before the kill %v",
		kills, time.Since(began).Round(time.Second), len(drawn), len(h.requests), repeats, len(h.unsaved), h.unsaved[max(0, len(h.unsaved)-3):])
	if repeats < kills/2 {
		t.Errorf("%d requests were repeated after %d kills between a request and its answer", repeats, kills/2)
	}
	h.mu.Unlock()
	c.stop()
}

// TestFiftyQuestionsReachASink measures how long it takes from the moment at which an agent has drawn a question until the request
// arrives at a web service, with 50 agents that ask at the same time. GC_QUESTIONS is the number of questions.
func TestFiftyQuestionsReachASink(t *testing.T) {
	const agents = 50
	h := newHook(t)
	members := make([]member, agents)
	for i := range members {
		members[i].name = name(i)
	}
	c := newCityOf(t, h.toml(), members)
	c.start()
	c.await("running", running)
	total := numberOf(t, "GC_QUESTIONS", 4*agents)
	for n := 0; n < total; n += agents {
		c.askAll(t, agents, func(i int) string { return fmt.Sprintf("q%d.%s", n+i, name(i)) })
		if missing := awaitSent(h, askedBy(t, c, agents), waitLimit); len(missing) > 0 {
			t.Fatalf("%d questions did not arrive: %v", len(missing), missing)
		}
		open, err := c.client.Pending(t.Context(), "", client.OnlyOpen)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range open {
			if _, err := c.client.Respond(t.Context(), q.ID, client.RespondRequest{Option: "1"}); err != nil {
				t.Error(err)
			}
		}
	}
	var took []time.Duration
	for question, at := range askedBy(t, c, agents) {
		took = append(took, h.arrival(question).Sub(at))
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("%d questions of %d agents: median %v, p99 %v, worst %v", len(took), agents, took[len(took)/2].Round(time.Millisecond), p99.Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	if len(took) < total || p99 > told {
		t.Errorf("%d of %d questions; p99 is %v, want at most %v", len(took), total, p99, told)
	}
	c.stop()
}

// askAll makes all agents ask at the same time, and waits until each has drawn its question.
func (c *city) askAll(t *testing.T, agents int, question func(i int) string) {
	t.Helper()
	var group sync.WaitGroup
	for i := range agents {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			if _, err := c.client.Nudge(ctx, name(i), client.NudgeRequest{Text: "[[ask:May I do " + question(i) + "?|Yes|No]]"}); err != nil {
				t.Errorf("%s: %v", name(i), err)
				return
			}
			for ctx.Err() == nil {
				if slices.ContainsFunc(ledger.Of(c.records(t, name(i)), ledger.Asked), func(r ledger.Record) bool { return strings.Contains(r.Dialog, question(i)+"?") }) {
					return
				}
				pause(50 * time.Millisecond)
			}
			t.Errorf("%s did not ask", name(i))
		})
	}
	group.Wait()
}
