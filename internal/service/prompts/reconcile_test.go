package prompts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/storetest"
)

// scriptedOutcome is one way in which a delivery proceeds. The process may be killed between any two steps.
type scriptedOutcome struct {
	weight int
	do     func(w *process, a *agent, text string) (runtime.Outcome, error)
}

var errPipe = errors.New("broken pipe")

// scriptedOutcomes are the faults. The ledger has what the agent really accepted, whatever the outcome says.
var scriptedOutcomes = []scriptedOutcome{
	{60, func(_ *process, a *agent, text string) (runtime.Outcome, error) { return a.accept(text), nil }},
	{10, func(_ *process, a *agent, text string) (runtime.Outcome, error) { // without a signal of a turn
		a.accept(text)
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "composer_emptied"}, nil
	}},
	{8, func(_ *process, _ *agent, _ string) (runtime.Outcome, error) {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy}, nil
	}},
	{4, func(_ *process, a *agent, text string) (runtime.Outcome, error) { // every Enter is lost
		a.line = text
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "Enter was lost"}, nil
	}},
	{4, func(_ *process, a *agent, text string) (runtime.Outcome, error) { // accepted without a signal
		a.accept(text)
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, nil
	}},
	{2, func(_ *process, a *agent, text string) (runtime.Outcome, error) {
		a.line = text
		return runtime.Outcome{}, errPipe
	}},
	{2, func(_ *process, a *agent, text string) (runtime.Outcome, error) {
		a.accept(text)
		return runtime.Outcome{}, errPipe
	}},
	{1, func(_ *process, a *agent, _ string) (runtime.Outcome, error) { // the agent exits before
		a.end(client.StateStopped)
		return runtime.Outcome{State: runtime.OutcomeAbsent}, nil
	}},
	{1, func(_ *process, a *agent, text string) (runtime.Outcome, error) { // the agent exits after
		a.accept(text)
		a.end(client.StateStopped)
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the agent exited"}, nil
	}},
	{1, func(_ *process, a *agent, _ string) (runtime.Outcome, error) {
		a.start()
		return runtime.Outcome{State: runtime.OutcomeAbsent}, &runtime.Error{Op: "deliver", Session: a.name, Err: runtime.ErrStaleInstance}
	}},
	{1, func(_ *process, _ *agent, _ string) (runtime.Outcome, error) {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "a NUL"}, nil
	}},
}

// draw returns a random scripted outcome.
func draw(random *rand.Rand) scriptedOutcome {
	total := 0
	for _, f := range scriptedOutcomes {
		total += f.weight
	}
	n := random.IntN(total)
	for _, f := range scriptedOutcomes {
		if n -= f.weight; n < 0 {
			return f
		}
	}
	return scriptedOutcomes[0]
}

// stressTest is the state of the test.
type stressTest struct {
	*engineTest
	random *rand.Rand // guarded by mu
	mu     sync.Mutex
	sent   map[string]sentPrompt // by receipt
}

type sentPrompt struct {
	agent, text string
	sender, n   int
}

func (s *stressTest) intN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// script makes the agent use a random scripted outcome for each delivery.
func (s *stressTest) script(a *agent) {
	a.deliver = func(ctx context.Context, a *agent, text string) (out runtime.Outcome, err error) {
		s.mu.Lock()
		f, wait := draw(s.random), time.Duration(s.random.IntN(60))*time.Millisecond
		w := s.process
		s.mu.Unlock()
		for _, part := range []time.Duration{wait, wait / 2} {
			select {
			case <-time.After(part):
			case <-ctx.Done():
				return runtime.Outcome{}, ctx.Err()
			}
		}
		dead := w.effect(func() error {
			a.mu.Lock()
			defer a.mu.Unlock()
			if !a.view.Running {
				out = runtime.Outcome{State: runtime.OutcomeAbsent}
				return nil
			}
			out, err = f.do(w, a, text)
			return nil
		})
		if dead != nil {
			return runtime.Outcome{}, dead
		}
		w.engine.SessionChanged("s-" + a.name)
		// The process may be killed after the delivery and before its report.
		select {
		case <-time.After(wait / 4):
		case <-ctx.Done():
		}
		return out, err
	}
}

// sender sends prompts of one sender. It repeats a failed request with the same key.
func (s *stressTest) sender(id, prompts int, agents []string) {
	for n := range prompts {
		name := agents[(id+n)%len(agents)]
		req := client.NudgeRequest{
			Text: fmt.Sprintf("sender %d prompt %04d for %s", id, n, name), Key: fmt.Sprintf("%d-%d", id, n),
			Source: fmt.Sprint("sender ", id), Successor: n%3 != 0,
		}
		for range 200 {
			s.mu.Lock()
			w := s.process
			s.mu.Unlock()
			ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
			got, err := w.engine.Nudge(ctx, name, req)
			cancel()
			if err == nil {
				s.mu.Lock()
				s.sent[got.ID] = sentPrompt{name, req.Text, id, n}
				s.mu.Unlock()
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Duration(s.intN(20)) * time.Millisecond)
	}
}

// disturb kills engines and agents, and breaks the store, until done is closed.
func (s *stressTest) disturb(done <-chan struct{}, faulty *storetest.Faulty) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(100+s.intN(400)) * time.Millisecond):
		}
		switch s.intN(6) {
		case 0, 1:
			s.restart()
		case 2:
			faulty.Set([]storetest.Mode{storetest.FailsWrites, storetest.LosesAnswers, storetest.Fails}[s.intN(3)])
			time.Sleep(time.Duration(s.intN(500)) * time.Millisecond)
			faulty.Set(storetest.Works)
		default:
			s.restartAgents()
		}
	}
}

// restart kills the engine at this point and starts another one.
func (s *stressTest) restart() {
	s.kill()
	s.city.Stop()
	next := s.newProcess()
	s.city.Start(next.engine)
	s.mu.Lock()
	s.process = next
	s.mu.Unlock()
}

// restartAgents starts stopped agents again and reads all agents.
func (s *stressTest) restartAgents() {
	s.mu.Lock()
	w := s.process
	s.mu.Unlock()
	for name := range s.agents {
		w.edit(name, func(a *agent) {
			if !a.view.Running {
				a.start()
			}
			a.view.Activity = session.Activity{State: runtime.ActivityIdle, Since: time.Now(), Confidence: session.ConfidenceCertain}
			a.view.ReadAt = time.Now()
		})
	}
}

// With many senders, agents with every fault, a store that fails and engines that are killed at random,
// receipts and ledgers agree at the end.
func TestReceiptsAndLedgersReconcile(t *testing.T) {
	t.Parallel()
	senders, prompts := 8, 200*(*soak)
	seed := rand.Uint64()
	agents := []*agent{newAgent("a"), newAgent("b"), newAgent("c"), newAgent("d")}
	inVirtualTime(t, func(r *engineTest) {
		faulty := r.city.Store
		s := &stressTest{engineTest: r, random: rand.New(rand.NewPCG(seed, 1)), sent: map[string]sentPrompt{}}
		for _, a := range agents {
			s.script(a)
		}
		var sending sync.WaitGroup
		for id := range senders {
			sending.Go(func() { s.sender(id, prompts, []string{"a", "b", "c", "d"}) })
		}
		done := make(chan struct{})
		var storming sync.WaitGroup
		storming.Go(func() { s.disturb(done, faulty) })
		sending.Wait()
		close(done)
		storming.Wait()
		for range 2000 { // until the queues are empty
			s.restartAgents()
			time.Sleep(2 * time.Second)
			if open, err := s.store.OpenReceipts(s.Context()); err == nil && len(open) == 0 {
				break
			}
		}
		synctest.Wait()
		s.reconcile(senders * prompts)
		if s.Failed() {
			s.Logf("seed %d", seed)
		}
	}, agents...)
}

// reconcile compares the receipts with the ledgers of the agents.
func (s *stressTest) reconcile(want int) {
	taken := map[string]int{}
	for _, a := range s.agents {
		last := map[int]int{}
		for _, text := range a.ledger {
			taken[text]++
			var sender, n int
			var name string
			if _, err := fmt.Sscanf(text, "sender %d prompt %d for %s", &sender, &n, &name); err != nil || name != a.name {
				s.Errorf("%s took %q, which was never sent", a.name, text)
				continue
			}
			if n <= last[sender] && last[sender] > 0 {
				s.Errorf("%s took prompt %d of sender %d after %d", a.name, n, sender, last[sender])
			}
			last[sender] = n
		}
	}
	count := map[string]int{}
	for id, p := range s.sent {
		got, err := s.engine.Receipt(s.Context(), id, "")
		if err != nil {
			s.Errorf("the receipt of %q is lost: %v", p.text, err)
			continue
		}
		count[got.State]++
		ok := taken[p.text] == 0
		switch got.State {
		case client.ReceiptConsumed, client.ReceiptSubmitted: // a submitted receipt is final if it is closed
			ok = (got.State == client.ReceiptConsumed || got.Closed) && taken[p.text] == 1
		case client.ReceiptUnconfirmed:
			ok = taken[p.text] <= 1
		case client.ReceiptDead, client.ReceiptExpired:
		default:
			ok = false
		}
		if !ok {
			s.Errorf("%q is %s (%s) and was taken %d times; steps %v", p.text, got.State, got.Reason, taken[p.text], got.Steps)
		}
		delete(taken, p.text)
	}
	for text, n := range taken {
		s.Errorf("%q was taken %d times and has no receipt", text, n)
	}
	states := make([]string, 0, len(count))
	for state, n := range count {
		states = append(states, fmt.Sprintf("%s %d", state, n))
	}
	slices.Sort(states)
	s.Logf("%d prompts: %s", len(s.sent), strings.Join(states, ", "))
	if len(s.sent) != want || count[client.ReceiptConsumed] < want/2 {
		s.Errorf("%d receipts for %d prompts, %d consumed", len(s.sent), want, count[client.ReceiptConsumed])
	}
}
