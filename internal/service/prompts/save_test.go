package prompts_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/service/prompts"
	"gascity/runtime"
	"gascity/test/servicetest"
	"gascity/test/storetest"
)

// slowDisk returns "no answer in time" for the next new receipt, and saves it 10 s later. Later writes wait
// for it, as for the single writer of the store.
type slowDisk struct {
	storetest.Receipts
	mu   sync.Mutex
	slow bool
	turn sync.Mutex
}

func (s *slowDisk) next(slow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = slow
}

func (s *slowDisk) AddReceipt(ctx context.Context, r prompt.Receipt) (prompt.Receipt, bool, error) {
	s.mu.Lock()
	slow := s.slow
	s.slow = false
	s.mu.Unlock()
	s.turn.Lock()
	if slow {
		time.AfterFunc(10*time.Second, func() {
			defer s.turn.Unlock()
			_, _, _ = s.Receipts.AddReceipt(context.WithoutCancel(ctx), r) // no caller gets the result
		})
		return prompt.Receipt{}, false, fmt.Errorf("%w: no answer in time", client.ErrUnavailable)
	}
	defer s.turn.Unlock()
	return s.Receipts.AddReceipt(ctx, r)
}

func (s *slowDisk) SaveReceipt(ctx context.Context, r prompt.Receipt) error {
	for !s.turn.TryLock() { // a blocked mutex would stop the time of the bubble
		if err := sleep(ctx); err != nil {
			return err
		}
	}
	defer s.turn.Unlock()
	return s.Receipts.SaveReceipt(ctx, r)
}

func sleep(ctx context.Context) error {
	select {
	case <-time.After(10 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// storedUnacknowledged sends a prompt that the store saves although its sender gets an error. It returns the
// receipt.
func (r *engineTest) storedUnacknowledged(key string) prompt.Receipt {
	r.Helper()
	disk := &slowDisk{}
	r.store = disk
	r.crash()
	disk.next(true)
	_, err := r.engine.Nudge(r.Context(), "a", client.NudgeRequest{Text: "x", Key: key, TTL: time.Hour})
	if !errors.Is(err, client.ErrUnavailable) {
		r.Fatalf("a prompt that cannot be kept in time is answered with %v", err)
	}
	servicetest.Advance(time.Minute)
	open, _ := disk.OpenReceipts(r.Context()) // memory never fails
	ended, _ := disk.EndedReceipts(r.Context(), "", 0)
	if all := slices.Concat(open, ended); len(all) == 1 {
		return all[0]
	}
	r.Fatal("the store does not keep it")
	return prompt.Receipt{}
}

// A prompt with a key that was saved too late is delivered once, without a restart.
func TestLateReceiptWithKeyIsDelivered(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		kept := r.storedUnacknowledged("k")
		r.want(kept.ID, client.ReceiptConsumed)
		again := r.send("a", "x", func(q *client.NudgeRequest) { q.Key = "k" })
		if again.ID != kept.ID || len(a.ledger) != 1 {
			r.Errorf("asked again with its key it is %s, want %s; the agent took %q", again.ID, kept.ID, a.ledger)
		}
	}, a)
}

// A late prompt without a key is withdrawn: its sender got an error, and may have sent it again.
func TestLateReceiptWithoutKeyIsWithdrawn(t *testing.T) {
	a := newAgent("a")
	inVirtualTime(t, func(r *engineTest) {
		kept := r.storedUnacknowledged("")
		r.want(kept.ID, client.ReceiptCancelled)
		r.crash()
		servicetest.Advance(time.Minute)
		if len(a.ledger) > 0 {
			r.Errorf("the agent took %q", a.ledger)
		}
	}, a)
}

// A receipt that only the store has becomes an active one by a request with its key or ID: it expires.
func TestReceiptThatOnlyTheStoreKnows(t *testing.T) {
	for _, by := range []string{"key", "id"} {
		inVirtualTime(t, func(r *engineTest) {
			r.edit("a", func(a *agent) { a.view.Ready = false })
			now := time.Now()
			stray := prompt.Receipt{
				ID: "stray", Session: "s-a", Agent: "a", Key: "k", Content: runtime.TextContent("x"), State: prompt.Queued,
				CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(time.Minute),
			}
			if _, _, err := r.store.AddReceipt(r.Context(), stray); err != nil {
				r.Fatal(err)
			}
			if by == "key" {
				if got := r.send("a", "x", func(q *client.NudgeRequest) { q.Key = "k" }); got.ID != "stray" {
					r.Errorf("the key made %s", got.ID)
				}
			}
			ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
			defer cancel()
			if got, err := r.engine.Receipt(ctx, "stray", client.ReceiptSubmitted); err != nil || got.State != client.ReceiptExpired {
				r.Errorf("found by %s it is %s after an hour, %v", by, got.State, err)
			}
			if n, _ := r.engine.QueuedFor("s-a"); n != 0 {
				r.Errorf("%d prompts wait", n)
			}
		}, newAgent("a"))
	}
}

// badRow is a store whose open receipts cannot be read.
type badRow struct{ storetest.Receipts }

func (*badRow) OpenReceipts(context.Context) ([]prompt.Receipt, error) {
	return nil, errors.New("the receipt of X cannot be read and is left out: invalid character")
}

func TestUnreadableReceiptStopsNoOtherPrompt(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.store = &badRow{}
		r.crash()
		sent := r.send("a", "x")
		synctest.Wait()
		r.want(sent.ID, client.ReceiptConsumed)
	}, newAgent("a"))
}

// A key belongs to one prompt. The same key with another text, other files or another target is refused, while
// the prompt is open and after it has ended, also after an edit.
func TestKeyOfAnotherPromptIsRefused(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		file := r.TempDir()
		r.edit("a", func(a *agent) { a.view.Ready = false })
		key := func(q *client.NudgeRequest) { q.Key = "k" }
		first := r.send("a", "x", key)
		changed := "changed"
		if _, err := r.engine.EditPrompt(r.Context(), first.ID, client.EditRequest{Text: &changed}); err != nil {
			r.Fatal(err)
		}
		refused := func(when string) {
			for what, c := range map[string]struct {
				target string
				req    client.NudgeRequest
			}{
				"another text":   {"a", client.NudgeRequest{Text: "y", Key: "k"}},
				"other files":    {"a", client.NudgeRequest{Text: "x", Key: "k", Files: []string{file}}},
				"another target": {"b", client.NudgeRequest{Text: "x", Key: "k"}},
			} {
				_, err := r.engine.Nudge(r.Context(), c.target, c.req)
				if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), first.ID) {
					r.Errorf("%s, %s: %v, want a refusal that names %s", when, what, err, first.ID)
				}
			}
			if again := r.send("s-a", "x", key); again.ID != first.ID {
				r.Errorf("%s: the same prompt again is %s, want %s", when, again.ID, first.ID)
			}
		}
		refused("while it waits")
		r.edit("a", func(a *agent) { a.view.Ready = true })
		synctest.Wait()
		r.want(first.ID, client.ReceiptConsumed)
		refused("when it has ended")
		if l := r.agents["b"].ledger; len(l) > 0 {
			r.Errorf("another agent took %q", l)
		}
	}, newAgent("a"), newAgent("b"))
}

// fill sends n prompts to an agent that is not ready. With calls, a call waits for each of them until stop.
func fill(t *testing.T, n int, calls bool) (e *prompts.Engine, ids []string, stop func()) {
	a := newAgent("a")
	a.view.Ready = false
	w := &process{agents: map[string]*agent{"a": a}}
	e = prompts.New(servicetest.PromptOptions(&storetest.Receipts{}, w, storetest.NewEvents(1, 0, time.Now)))
	w.engine = e
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for i := range n {
		r, err := e.Nudge(ctx, "a", client.NudgeRequest{Text: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
		if calls {
			all.Go(func() {
				if _, err := e.Receipt(ctx, r.ID, client.ReceiptConsumed); err == nil {
					t.Error("the receipt ended")
				}
			})
		}
	}
	return e, ids, func() { cancel(); all.Wait() }
}

// Calls that wait for receipts do not slow down other operations of the queue.
func TestWaitingCallsCostNothing(t *testing.T) {
	const prompts, edits = 1000, 40
	cost := func(calls bool) time.Duration {
		e, ids, stop := fill(t, prompts, calls)
		defer stop()
		best := time.Hour
		for range 20 { // the fastest one has the least load of other programs
			began := time.Now()
			for i := range edits {
				text := fmt.Sprint("changed ", i)
				if _, err := e.EditPrompt(t.Context(), ids[0], client.EditRequest{Text: &text}); err != nil {
					t.Fatal(err)
				}
				e.SessionChanged("s-a")
			}
			best = min(best, time.Since(began))
		}
		return best / edits
	}
	alone, waited := cost(false), cost(true)
	t.Logf("a change takes %v, and %v while %d calls wait", alone, waited, prompts)
	if waited > 20*alone {
		t.Errorf("a change takes %v while %d calls wait, and %v otherwise", waited, prompts, alone)
	}
}

func TestWaitingCallsAreBounded(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.view.Ready = false })
		sent := r.send("a", "x")
		ctx, cancel := context.WithCancel(r.Context())
		var calls sync.WaitGroup
		for range 4096 {
			calls.Go(func() { _, _ = r.engine.Receipt(ctx, sent.ID, client.ReceiptSubmitted) }) // it ends with ctx
		}
		synctest.Wait()
		if _, err := r.engine.Receipt(r.Context(), sent.ID, client.ReceiptConsumed); !errors.Is(err, client.ErrUnavailable) {
			r.Errorf("one call more: %v", err)
		}
		_, err := r.engine.Nudge(r.Context(), "a", client.NudgeRequest{Text: "y", Wait: client.ReceiptSubmitted})
		if n, newest := r.engine.QueuedFor("s-a"); !errors.Is(err, client.ErrUnavailable) || n != 1 || newest.IsZero() {
			r.Errorf("one prompt that is waited for more: %v; %d are queued, the newest since %v, want 1", err, n, newest)
		}
		r.want(sent.ID, client.ReceiptQueued)
		cancel()
		calls.Wait()
		r.edit("a", func(a *agent) { a.view.Ready = true })
		if got, err := r.engine.Receipt(r.Context(), sent.ID, client.ReceiptConsumed); err != nil {
			r.Errorf("after their end: %s, %v", got.State, err)
		}
	}, newAgent("a"))
}
