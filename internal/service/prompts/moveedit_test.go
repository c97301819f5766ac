package prompts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// A person moves and edits prompts that wait: the agent gets them in that order and with these texts. Each change is an event with
// the person, the IDs stay, and the order survives a kill of the controller.
func TestMovedPromptsAreDeliveredInOrder(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.view.Activity.State = runtime.ActivityWaiting })
		var ids []string
		for _, text := range []string{"one", "two", "three", "four"} {
			ids = append(ids, r.send("a", text).ID)
		}
		servicetest.Advance(time.Second)
		move := func(id string, req client.MoveRequest, place int) {
			r.Helper()
			req.By = "ada"
			if got, err := r.engine.MovePrompt(r.Context(), id, req); err != nil || got.ID != id || got.Position != place {
				r.Errorf("the move of %s made %+v, %v; want position %d", id, got, err, place)
			}
		}
		move(ids[3], client.MoveRequest{First: true}, 1)    // four one two three
		move(ids[0], client.MoveRequest{Last: true}, 4)     // four two three one
		move(ids[2], client.MoveRequest{Before: ids[1]}, 2) // four three two one
		late := r.send("a", "five").ID                      // four three two one five
		text := "changed"
		if _, err := r.engine.EditPrompt(r.Context(), ids[1], client.EditRequest{Text: &text, By: "ada"}); err != nil {
			r.Error(err)
		}
		if whole, err := r.engine.PromptText(r.Context(), ids[1]); err != nil || whole.Text != text {
			r.Errorf("the whole text is %+v, %v", whole, err)
		}
		if kinds := r.kinds(ids[1]); !slices.Contains(kinds, "prompt.edited") || !slices.Contains(r.kinds(ids[0]), "prompt.moved") {
			r.Errorf("the events are %v and %v", kinds, r.kinds(ids[0]))
		}
		r.crash()
		servicetest.Advance(time.Second)
		r.edit("a", func(a *agent) { a.view.Activity.State = runtime.ActivityIdle })
		servicetest.Advance(30 * time.Second)
		if l := r.agents["a"].ledger; !slices.Equal(l, []string{"four", "three", "changed", "one", "five"}) {
			r.Errorf("the agent took %v", l)
		}
		for _, id := range append(ids, late) {
			r.want(id, client.ReceiptConsumed)
		}
	}, newAgent("a"))
}

// A prompt that is on its way is neither moved nor edited, and the reason is given. Nothing is moved before it.
func TestAPromptOnItsWayStays(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.deliver, a.undecided = hanging, 1_000_000 })
		first, second := r.send("a", "first").ID, r.send("a", "second").ID
		servicetest.Advance(time.Second)
		text := "changed"
		_, edited := r.engine.EditPrompt(r.Context(), first, client.EditRequest{Text: &text})
		_, moved := r.engine.MovePrompt(r.Context(), first, client.MoveRequest{Last: true})
		_, before := r.engine.MovePrompt(r.Context(), second, client.MoveRequest{Before: first})
		_, read := r.engine.PromptText(r.Context(), first)
		for what, err := range map[string]error{"edit": edited, "move": moved, "move before it": before, "text": read} {
			if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), first+" is on its way") {
				r.Errorf("%s: %v", what, err)
			}
		}
		if got, err := r.engine.MovePrompt(r.Context(), second, client.MoveRequest{First: true}); err != nil || got.Position != 1 {
			r.Errorf("the other prompt: %+v, %v", got, err)
		}
	}, newAgent("a"))
}

// changer moves and edits random prompts until done is closed. texts has, for each prompt, the texts that it may have: the last one
// that was accepted, and those of later edits without an answer. It counts what was accepted and what was refused.
func (s *stressTest) changer(done <-chan struct{}, texts map[string][]string, moves, edits, late *atomic.Int64) {
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(1+s.intN(4)) * time.Millisecond):
		}
		s.mu.Lock()
		w := s.process
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
		queue, err := w.engine.Queue(ctx, "", client.OnlyOpen)
		if err != nil || len(queue) == 0 {
			cancel()
			continue
		}
		picked, other := queue[s.intN(len(queue))], queue[s.intN(len(queue))]
		if s.intN(3) == 0 {
			picked = queue[0] // a delivery may begin now
		}
		s.mu.Lock()
		sent, ok := s.sent[picked.ID]
		s.mu.Unlock()
		switch {
		case !ok: // its sender has no answer yet
		case s.intN(2) == 0:
			text := fmt.Sprintf("%s edit %d", sent.text, n)
			before := texts[picked.ID]
			if before == nil {
				before = []string{sent.text}
			}
			texts[picked.ID] = append(slices.Clone(before), text)
			_, err := w.engine.EditPrompt(ctx, picked.ID, client.EditRequest{Text: &text, By: "ada"})
			switch {
			case err == nil:
				edits.Add(1)
				texts[picked.ID] = []string{text}
			case errors.Is(err, client.ErrRefused), errors.Is(err, client.ErrNotFound):
				late.Add(1)
				texts[picked.ID] = before
			}
		default:
			req := []client.MoveRequest{{First: true}, {Last: true}, {Before: other.ID}}[s.intN(3)]
			if req.Before == picked.ID {
				req = client.MoveRequest{First: true}
			}
			switch _, err := w.engine.MovePrompt(ctx, picked.ID, req); {
			case err == nil:
				moves.Add(1)
			case errors.Is(err, client.ErrRefused):
				late.Add(1)
			}
		}
		cancel()
	}
}

// While prompts are moved and edited under deliveries with every fault, a store that fails and controllers that are killed, none is
// lost or taken twice, and each is taken with the text of its last accepted edit.
func TestMovedAndEditedPromptsReconcile(t *testing.T) {
	t.Parallel()
	senders, prompts := 6, 60*(*soak)
	seed := rand.Uint64()
	names := []string{"a", "b"}
	agents := []*agent{newAgent("a"), newAgent("b")}
	inVirtualTime(t, func(r *engineTest) {
		s := &stressTest{engineTest: r, random: rand.New(rand.NewPCG(seed, 1)), sent: map[string]sentPrompt{}}
		for _, a := range agents {
			s.script(a)
		}
		texts := map[string][]string{}
		var sending, changing sync.WaitGroup
		for id := range senders {
			sending.Go(func() { s.sender(id, prompts, names) })
		}
		done := make(chan struct{})
		var moves, edits, late atomic.Int64
		changing.Go(func() { s.changer(done, texts, &moves, &edits, &late) })
		changing.Go(func() { s.disturb(done, r.city.Store) })
		sending.Wait()
		sent := senders * prompts
		for id := senders; (moves.Load() < 20 || edits.Load() < 20) && id < 10*senders; id++ {
			s.sender(id, 10, names) // too few prompts were changed in time
			sent += 10
		}
		close(done)
		changing.Wait()
		for range 2000 {
			s.restartAgents()
			time.Sleep(2 * time.Second)
			if open, err := s.store.OpenReceipts(s.Context()); err == nil && len(open) == 0 {
				break
			}
		}
		synctest.Wait()
		taken := map[string]int{}
		for _, a := range agents {
			for _, text := range a.ledger {
				taken[text]++
			}
		}
		consumed := 0
		for id, p := range s.sent {
			got, err := s.engine.Receipt(s.Context(), id, "")
			if err != nil {
				s.Errorf("the receipt of %q is lost: %v", p.text, err)
				continue
			}
			allowed := texts[id]
			if allowed == nil {
				allowed = []string{p.text}
			}
			n := 0
			for _, text := range allowed {
				n += taken[text]
				delete(taken, text)
			}
			ok := n == 0
			switch got.State {
			case client.ReceiptConsumed, client.ReceiptSubmitted:
				ok = n == 1
				consumed++
			case client.ReceiptUnconfirmed:
				ok = n <= 1
			case client.ReceiptDead, client.ReceiptExpired:
			default:
				ok = false
			}
			if !ok {
				s.Errorf("%q is %s (%s) and was taken %d times with the texts %q; steps %v", p.text, got.State, got.Reason, n, allowed, got.Steps)
			}
		}
		for text, n := range taken {
			s.Errorf("%q was taken %d times, which is not the last accepted text of any prompt", text, n)
		}
		s.Logf("%d prompts, %d consumed; %d moves, %d edits, %d refused", len(s.sent), consumed, moves.Load(), edits.Load(), late.Load())
		if len(s.sent) != sent || consumed < len(s.sent)/2 || moves.Load() < 20 || edits.Load() < 20 {
			s.Errorf("%d of %d prompts, %d consumed; %d moves, %d edits", len(s.sent), sent, consumed, moves.Load(), edits.Load())
		}
		if s.Failed() {
			s.Logf("seed %d", seed)
		}
	}, agents...)
}
