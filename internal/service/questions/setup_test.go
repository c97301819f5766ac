package questions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// agent is an agent that asks, as a driver shows it. The service may call only Pending and Respond.
type agent struct {
	runtime.Provider // nil

	mu       sync.Mutex
	asks     *runtime.PendingInteraction
	answers  []runtime.InteractionResponse
	refuse   error         // of Respond
	ignores  bool          // it accepts answers, and they have no effect
	unread   error         // of Pending
	onAnswer func()        // called with the lock held
	ticks    int           // how many calls of Respond find a dialog whose time has changed
	slow     chan struct{} // Respond waits for it
}

func (a *agent) Pending(string) (*runtime.PendingInteraction, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asks, a.unread
}

func (a *agent) Respond(_ string, r runtime.InteractionResponse) error {
	if a.slow != nil {
		<-a.slow
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ticks > 0 && a.asks != nil {
		a.ticks--
		next := *a.asks
		next.RequestID += "+"
		next.Prompt = fmt.Sprintf("Proceed? (%ds)", a.ticks)
		a.asks = &next
		return runtime.ErrInteractionGone
	}
	switch {
	case a.refuse != nil:
		return a.refuse
	case a.asks == nil || a.asks.RequestID != r.RequestID:
		return errors.New("that is not what is asked now")
	}
	a.answers = append(a.answers, r)
	if !a.ignores {
		a.asks = nil
	}
	if a.onAnswer != nil {
		a.onAnswer()
	}
	return nil
}

// serviceTest is a test of the service in a scripted city.
type serviceTest struct {
	*servicetest.City
	questions *Service
	opts      Options
	notified  []client.Pending
}

func newServiceTest(t *testing.T) *serviceTest {
	w := &serviceTest{City: servicetest.New(t)}
	w.opts = Options{
		City: w, Store: w.Store, Events: w.Log, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Random: rand.Text,
		Policy: func(string) Policy { return Policy{} }, Sense: func(string) {},
		Notify: func(_ context.Context, p client.Pending) error {
			w.Mu.Lock()
			defer w.Mu.Unlock()
			w.notified = append(w.notified, p)
			return nil
		},
	}
	return w
}

// run starts the service with the city's store.
func (w *serviceTest) run() {
	w.questions = New(w.opts)
	w.Start(w.questions)
}

// agent adds an agent that runs and asks nothing.
func (w *serviceTest) agent(name string) *agent {
	a := &agent{}
	w.Add(name, func(v *session.Snapshot) { v.Provider = a })
	return a
}

// raiseQuestion makes the agent ask and the controller read it.
func (w *serviceTest) raiseQuestion(name string, asked runtime.PendingInteraction) {
	a := w.provider(name)
	a.mu.Lock()
	a.asks = &asked
	a.mu.Unlock()
	w.read(name)
}

func (w *serviceTest) provider(name string) *agent {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return w.Views[name].Provider.(*agent)
}

// read simulates that the controller reads the session now and notifies the service.
func (w *serviceTest) read(name string) {
	a := w.provider(name)
	a.mu.Lock()
	asks := a.asks
	a.mu.Unlock()
	w.Change(name, func(v *session.Snapshot) { v.Pending, v.ReadAt = asks, time.Now() })
}

// readAfterAnswers makes the controller read the session after each answer.
func (w *serviceTest) readAfterAnswers(name string) {
	a := w.provider(name)
	a.onAnswer = func() {
		asks := a.asks
		go func() {
			<-time.After(50 * time.Millisecond) // of the bubble: the agent redraws
			w.questions.SessionChanged(w.Edit(name, func(v *session.Snapshot) { v.Pending, v.ReadAt = asks, time.Now() }))
		}()
	}
}

func (w *serviceTest) list() []client.Pending {
	w.T.Helper()
	all, err := w.questions.Pending(w.T.Context(), "", client.WithEnded)
	if err != nil {
		w.T.Fatal(err)
	}
	return all
}

// only returns the only question.
func (w *serviceTest) only() client.Pending {
	w.T.Helper()
	all := w.list()
	if len(all) != 1 {
		w.T.Fatalf("there are %d episodes, want one: %+v", len(all), all)
	}
	return all[0]
}

func (w *serviceTest) alerts() int {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return len(w.notified)
}

func permission(id string) runtime.PendingInteraction {
	return runtime.PendingInteraction{
		RequestID: id, Kind: runtime.WaitPermission, Prompt: "Run this?\n  rm -rf ./build · ünï\tcode",
		Options:  []string{"Yes", "Yes, and don't ask again", "No, and tell it why"},
		Metadata: map[string]string{runtime.MetaTool: "Bash", runtime.MetaInput: "rm -rf ./build", runtime.MetaSource: "screen"},
	}
}
