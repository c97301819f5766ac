package workers_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/worker"
)

func sections(types ...string) []worker.Section {
	var out []worker.Section
	for _, t := range types {
		out = append(out, worker.Section{Type: t, Content: "content of " + t})
	}
	return out
}

// seen returns how often a worker has received each section, by epoch and type.
func (a *agent) seen() map[string]int {
	out := map[string]int{}
	for _, m := range a.had(worker.ContextMessage) {
		var c worker.Context
		a.test.must(json.Unmarshal(m.Data, &c))
		for _, s := range c.Sections {
			if s.Nonce == "" || !strings.Contains(s.Content, s.Nonce) {
				a.test.Errorf("section %s has no nonce in it", s.Type)
			}
			out[string(rune('0'+c.Epoch))+s.Type]++
		}
	}
	return out
}

// nonces acknowledges context with all the nonces in it.
func nonces(a *agent, m worker.Message) {
	var c worker.Context
	ack := worker.Ack{ID: m.ID, State: worker.Consumed}
	if m.Kind == worker.ContextMessage && json.Unmarshal(m.Data, &c) == nil {
		for _, s := range c.Sections {
			ack.Nonces = append(ack.Nonces, s.Nonce)
		}
	}
	_ = a.Ack(a.test.within(), ack) // the test checks the result
}

// TestSectionsArriveOncePerEpoch covers twenty compactions, each reported twice, with a killed
// controller in between and repeated requests.
func TestSectionsArriveOncePerEpoch(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), nonces, worker.OfferContext)
	order := func(types ...string) {
		t.Helper()
		if _, err := r.owner().Context(r.within(), worker.Context{RunID: a.RunID, Mode: worker.FullContext, Sections: sections(types...)}); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Now().Add(-time.Hour)
	for epoch := range 9 {
		if epoch > 0 {
			compacted := worker.TelemetryEvent{Type: worker.Compacted, Timestamp: at.Add(time.Duration(epoch) * time.Minute)}
			for range 2 {
				if _, err := a.Telemetry(r.within(), compacted); err != nil {
					t.Fatal(err)
				}
			}
		}
		order("role", "work")
		if epoch%3 == 1 {
			r.restart()
			r.eventually("the worker is back", func() bool {
				h, err := r.owner().Health(r.within(), a.RunID)
				return err == nil && h.Status == worker.Healthy
			})
		}
		order("work", "mail", "role")
		want := string(rune('0' + epoch))
		r.eventually("all sections are there", func() bool { s := a.seen(); return s[want+"role"] > 0 && s[want+"work"] > 0 && s[want+"mail"] > 0 })
	}
	for section, n := range a.seen() {
		if n != 1 {
			t.Errorf("section %s came %d times", section, n)
		}
	}
	if got := r.Accepted(); len(got) != 0 {
		t.Errorf("as prompts as well: %v", got)
	}
}

// TestUnseenSectionIsSentAsAPromptOnce checks that a section without its nonce in the
// acknowledgement is sent as a prompt, once.
func TestUnseenSectionIsSentAsAPromptOnce(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), func(a *agent, m worker.Message) {
		var c worker.Context
		if json.Unmarshal(m.Data, &c) != nil || len(c.Sections) == 0 {
			return
		}
		for range 3 { // its hook reports success
			_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Consumed, Nonces: []string{c.Sections[0].Nonce}}) // seen below
		}
	}, worker.OfferContext)
	if _, err := r.owner().Context(r.within(), worker.Context{RunID: a.RunID, Sections: sections("role", "work")}); err != nil {
		t.Fatal(err)
	}
	r.eventually("what was not seen is prompted", func() bool { return len(r.Accepted()) > 0 })
	got := r.Accepted()
	if len(got) != 1 || !strings.Contains(got[0].Text, "content of work") || strings.Contains(got[0].Text, "content of role") || got[0].Priority != "system" {
		t.Errorf("prompted: %+v", got)
	}
}

func TestContextOfAWorkerThatTakesNoneIsAPrompt(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), nil)
	for range 2 {
		if _, err := r.owner().Context(r.within(), worker.Context{RunID: a.RunID, Sections: sections("role")}); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.Accepted(); len(got) != 1 || len(a.had(worker.ContextMessage)) != 0 {
		t.Errorf("prompted: %+v", got)
	}
}

// TestUnconfirmedInterruptIsWithdrawn checks that an interrupt that was not confirmed in time is
// removed and cannot act on a later turn.
func TestUnconfirmedInterruptIsWithdrawn(t *testing.T) {
	r := newEngineTest(t, nil)
	env := r.start("a", "one")
	a := r.work(env, nil, worker.OfferInterrupt)
	r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
	if answer, err := r.owner().Interrupt(r.within(), worker.Interrupt{RunID: a.RunID}); err != nil || !answer.Confirmed {
		t.Errorf("interrupted: %+v, %v", answer, err)
	}
	a.cancel()
	r.must(<-a.done)
	silent := r.work(env, func(*agent, worker.Message) {}, worker.OfferInterrupt)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := runtime.InterruptInstance(ctx, r.now().provider, "a", "one"); err == nil {
		t.Error("an interrupt without a word is confirmed")
	}
	if err := runtime.InterruptInstance(t.Context(), r.now().provider, "a", "two"); !errors.Is(err, runtime.ErrStaleInstance) {
		t.Errorf("another instance's interrupt: %v", err)
	}
	silent.cancel()
	r.must(<-silent.done)
	next := r.work(env, nil, worker.OfferInterrupt)
	if out := r.deliver(delivery("p", "one", "hello")); out.State != runtime.OutcomeSubmitted || len(next.had(worker.InterruptMessage)) != 0 {
		t.Errorf("after it had been given up the worker got %v", next.had(worker.InterruptMessage))
	}
}

func TestHealthIsReportedOrDerived(t *testing.T) {
	r := newEngineTest(t, nil)
	used := 0.73
	a := r.work(r.start("a", "one"), func(a *agent, m worker.Message) {
		if m.Kind == worker.HealthMessage {
			_ = a.ReportHealth(r.within(), worker.Health{Status: worker.Unhealthy, CurrentState: "busy", Question: m.ID}) // seen below
		}
	}, worker.OfferHealth)
	if h := r.health(a.RunID); h.Status != worker.Unhealthy || !h.Asked || h.RunID != a.RunID {
		t.Errorf("its own answer: %+v", h)
	}
	if _, err := a.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.ContextPressure, ContextUsage: &used}); err != nil {
		t.Fatal(err)
	}
	a.cancel()
	r.must(<-a.done)
	r.eventually("it is not connected", func() bool { return r.health(a.RunID).Status == worker.Degraded })
	if h := r.health(a.RunID); h.Asked || h.ContextUsage == nil || *h.ContextUsage != used || h.CurrentState != "ready" {
		t.Errorf("what is known: %+v", h)
	}
	if _, err := r.owner().Health(t.Context(), "run-none"); !errors.Is(err, worker.ErrNotFound) {
		t.Errorf("a run that there is not: %v", err)
	}
}

func TestEventsHaveACursor(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), nil)
	b := r.work(r.start("b", "two"), nil)
	for range 3 {
		r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
	}
	var after uint64
	n := 0
	for {
		page, err := a.Events(r.within(), a.RunID, after)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page[:1] {
			if e.Seq <= after || e.RunID != a.RunID {
				t.Errorf("event %+v after %d", e, after)
			}
			after = e.Seq
			n++
		}
	}
	if n < 6 { // connected, started, ready, idle
		t.Errorf("%d events", n)
	}
	if _, err := a.Events(r.within(), b.RunID, 0); !errors.Is(err, worker.ErrForbidden) {
		t.Errorf("another run's events: %v", err)
	}
	all, err := r.owner().Events(r.within(), "", 0)
	if err != nil || len(all) <= n {
		t.Errorf("the owner sees %d events, %v", len(all), err)
	}
}

// TestTokensRotate checks that the worker continues with the new token, that the old one then
// expires, and that a controller that starts in between knows both.
func TestTokensRotate(t *testing.T) {
	r := newEngineTest(t, nil)
	var mu sync.Mutex
	now := time.Now()
	r.opts.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	r.restart()
	a := r.work(r.start("a", "one"), nil, worker.OfferIdentity)
	plain := r.work(r.start("b", "two"), nil)
	if err := r.now().engine.Rotate("b"); !errors.Is(err, worker.ErrRefused) {
		t.Errorf("a worker that takes no new token: %v", err)
	}
	r.must(plain.Report(r.within(), worker.Idle, worker.Detail{}))
	if err := r.now().engine.Rotate("a"); err != nil {
		t.Fatal(err)
	}
	speaks := func(generation int) error {
		c := &worker.Client{Socket: r.path, Token: session.WorkerToken("one", generation), RunID: a.RunID}
		defer c.Close()
		return c.Report(r.within(), worker.Idle, worker.Detail{})
	}
	if err := errors.Join(speaks(0), speaks(1)); err != nil {
		t.Errorf("during the grace both are good: %v", err)
	}
	r.eventually("the old token is dead after the grace", func() bool {
		mu.Lock()
		now = now.Add(workers.RotationGrace)
		mu.Unlock()
		return errors.Is(speaks(0), worker.ErrUnauthorized)
	})
	r.must(speaks(1))
	r.restart()
	r.eventually("the new token is known after a restart", func() bool { return speaks(1) == nil })
	if err := speaks(0); !errors.Is(err, worker.ErrUnauthorized) {
		t.Errorf("the old token after a restart: %v", err)
	}
	if out := r.deliver(delivery("p", "one", "hello")); out.State != runtime.OutcomeSubmitted {
		t.Errorf("the worker has lost its city: %+v", out)
	}
	if err := a.Report(r.within(), worker.Idle, worker.Detail{}); err != nil {
		t.Errorf("the worker goes on: %v", err)
	}
}

// TestRepeatedTelemetryCountsOnce also covers an event without an ID whose time is in the
// future.
func TestRepeatedTelemetryCountsOnce(t *testing.T) {
	var mu sync.Mutex
	kept := map[usage.Key]int{}
	r := newEngineTest(t, func(o *workers.Options) {
		o.Spend = func(_ context.Context, entries []usage.Entry) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range entries {
				kept[e.Key()]++
			}
			return len(entries), nil
		}
	})
	a := r.work(r.start("a", "one"), nil)
	tokens := int64(12)
	ev := worker.TelemetryEvent{Type: worker.TurnComplete, Timestamp: time.Now().Add(time.Hour), Usage: &worker.Usage{InputTokens: &tokens, OutputTokens: &tokens}}
	for range 3 {
		if _, err := a.Telemetry(r.within(), ev); err != nil {
			t.Fatal(err)
		}
	}
	if len(kept) != 1 {
		t.Errorf("a report that was repeated is %v", kept)
	}
}

// TestFullMailboxRefuses checks that a worker that fetches nothing costs a bounded amount of
// memory.
func TestFullMailboxRefuses(t *testing.T) {
	r := newEngineTest(t, nil)
	env := r.start("a", "one")
	c := clientOf(env)
	r.must(c.Report(r.within(), worker.Started, worker.Detail{Offers: []string{worker.OfferContext, worker.OfferIdentity}}))
	for range 1000 {
		if _, err := r.owner().Identity(r.within(), worker.Identity{RunID: c.RunID, Credentials: &worker.Credentials{Type: "token", Value: "x"}}); err != nil {
			t.Fatal(err) // a newer one replaces the older
		}
	}
	a := r.work(env, nil, worker.OfferIdentity)
	r.eventually("the newest arrives", func() bool { return len(a.had(worker.IdentityMessage)) > 0 })
	if n := len(a.had(worker.IdentityMessage)); n != 1 {
		t.Errorf("%d identities arrive", n)
	}
}
