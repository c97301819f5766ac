package waits

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// serviceTest is a test of the service in a scripted city. It has the receipts and questions on which
// the service waits.
type serviceTest struct {
	*servicetest.City
	waits *Service
	opts  Options

	prompts   servicetest.Prompts
	receipts  map[string]client.Receipt
	questions map[string]client.Pending
	begins    time.Time // of every session, see Prompts
	runs      int       // of commands
	shell     func(ctx context.Context) error
}

func newServiceTest(t *testing.T) *serviceTest {
	w := &serviceTest{City: servicetest.New(t), receipts: map[string]client.Receipt{}, questions: map[string]client.Pending{}}
	w.prompts.Before = func(target string, req client.NudgeRequest) {
		kept, _ := w.Store.LoadWaits(t.Context()) // Memory never fails
		for _, k := range kept {
			if k.ID == req.Key && k.State == client.WaitOpen && !w.Store.IsBroken() {
				t.Errorf("%s is notified of the end of %s before it is durable", target, k.ID)
			}
		}
	}
	w.opts = Options{
		City: w, Prompts: w, Questions: w, Store: w.Store, Events: w.Log, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Random: rand.Text,
		Shell: func(ctx context.Context, _ string) error {
			w.Mu.Lock()
			w.runs++
			then := w.shell
			w.Mu.Unlock()
			return then(ctx)
		},
	}
	return w
}

func (w *serviceTest) Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error) {
	return w.prompts.Nudge(ctx, target, req)
}

func (w *serviceTest) BeginsBy(string) time.Time {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return w.begins
}

func (w *serviceTest) Receipt(_ context.Context, id, _ string) (client.Receipt, error) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	r, ok := w.receipts[id]
	if !ok {
		return r, fmt.Errorf("%w: receipt %s", client.ErrNotFound, id)
	}
	return r, nil
}

func (w *serviceTest) Question(_ context.Context, id string) (client.Pending, error) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	p, ok := w.questions[id]
	if !ok {
		return p, fmt.Errorf("%w: question %s", client.ErrNotFound, id)
	}
	return p, nil
}

// agent adds an agent that runs and is busy.
func (w *serviceTest) agent(name string) {
	w.Add(name, func(v *session.Snapshot) { v.Activity = session.Activity{State: runtime.ActivityBusy} })
}

// run starts the service with the city's store.
func (w *serviceTest) run() {
	w.waits = New(w.opts)
	w.Start(w.waits)
}

func (w *serviceTest) add(req client.WaitRequest) client.Wait {
	w.T.Helper()
	got, err := w.waits.AddWait(w.T.Context(), req)
	if err != nil {
		w.T.Fatal(err)
	}
	synctest.Wait()
	return got
}

func (w *serviceTest) find(id string) client.Wait {
	w.T.Helper()
	all, err := w.waits.Waits(w.T.Context(), client.WithEnded)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, each := range all {
		if each.ID == id {
			return each
		}
	}
	w.T.Fatalf("there is no wait %s", id)
	return client.Wait{}
}

func (w *serviceTest) ran() int {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return w.runs
}

// outcome is the result of an Await call.
type outcome struct {
	wait client.Wait
	err  error
	took time.Duration
}

// startWait calls Await in a goroutine. The channel receives the outcome.
func (w *serviceTest) startWait(ctx context.Context, req client.WaitRequest) <-chan outcome {
	done := make(chan outcome, 1)
	start := time.Now()
	go func() {
		got, err := w.waits.Await(ctx, req)
		done <- outcome{got, err, time.Since(start)}
	}()
	synctest.Wait()
	return done
}
