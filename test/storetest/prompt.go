package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/runtime"
)

// receipt returns a queued receipt for a session.
func receipt(id, session string) prompt.Receipt {
	return prompt.Receipt{
		ID: id, Session: session, State: prompt.Queued, Content: runtime.TextContent("prompt " + id),
		Priority: prompt.Normal, CreatedAt: start(), UpdatedAt: start(), ExpiresAt: start().Add(time.Hour),
	}
}

// add stores a new receipt and returns it as the store returns it.
func (s *suite) add(r prompt.Receipt) prompt.Receipt {
	s.t.Helper()
	kept, known, err := s.Receipts.AddReceipt(s.ctx, r)
	s.must(err)
	if known {
		s.t.Fatalf("receipt %s is known as %s before it was added", r.ID, kept.ID)
	}
	return kept
}

// open checks that exactly these receipts are open.
func (s *suite) open(want ...prompt.Receipt) {
	s.t.Helper()
	got, err := s.Receipts.OpenReceipts(s.ctx)
	s.must(err)
	s.wantSame("the list of open receipts", want, got)
}

// receiptKept checks that a receipt is stored with all its fields.
func receiptKept(s *suite) {
	s.open()
	r := filled[prompt.Receipt](1)
	r.State, r.Closed = prompt.Injected, false
	want := r
	kept := s.add(r)
	if kept.Seq == 0 {
		s.t.Error("a receipt has no Seq")
	}
	want.Seq = kept.Seq
	s.wantSame("the added receipt", want, kept)
	s.recheck(func() {
		s.open(want)
		got, err := s.Receipts.Receipt(s.ctx, r.ID)
		s.must(err)
		s.wantSame("the receipt", want, got)
	})
	if _, err := s.Receipts.Receipt(s.ctx, "unknown"); !errors.Is(err, prompt.ErrUnknown) {
		s.t.Errorf("an unknown receipt is %v, want an error matching ErrUnknown", err)
	}
}

// receiptContent checks that content is stored unchanged.
func receiptContent(s *suite) {
	large := strings.Repeat("0123456789abcde\n", 1<<16)
	tests := map[string][]runtime.ContentBlock{
		"bytes":  runtime.TextContent("\x00\x1b[31m \xff\xfe <&> \u2028 \r\n\t '\" %s ?1"),
		"large":  runtime.TextContent(large),
		"blocks": {{Type: runtime.ContentText, Text: "one"}, {Type: runtime.ContentFilePath, Path: "/a b/\xffc"}, {Type: runtime.ContentText}},
	}
	for name, content := range tests {
		r := receipt(name, "s")
		r.Content = content
		s.add(r)
	}
	s.recheck(func() {
		for name, content := range tests {
			got, err := s.Receipts.Receipt(s.ctx, name)
			s.must(err)
			if !slices.Equal(got.Content, content) {
				s.t.Errorf("the content %q has changed", name)
			}
		}
	})
}

// receiptKey checks that a second receipt with a known key is not stored, and that an empty key may
// be used again.
func receiptKey(s *suite) {
	r := receipt("one", "s")
	r.Key = "k"
	want := s.add(r)
	s.recheck(func() {
		for _, target := range []string{"s", "another session"} {
			second := receipt("two", target)
			second.Key = "k"
			got, known, err := s.Receipts.AddReceipt(s.ctx, second)
			s.must(err)
			if !known {
				s.t.Errorf("a key that was used before is not known for %s", target)
			}
			s.wantSame("the receipt of a known key", want, got)
			s.open(want)
		}
	})
	s.add(receipt("four", "s"))
	s.add(receipt("five", "s")) // an empty key may be used again
}

// receiptKeyConcurrent checks that many concurrent calls with one key store one receipt and all
// return it.
func receiptKeyConcurrent(s *suite) {
	const senders = 8
	var fresh atomic.Int32
	ids := make([]string, senders)
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			r := receipt(fmt.Sprint("r", i), "s")
			r.Key = "k"
			kept, known, err := s.Receipts.AddReceipt(s.ctx, r)
			if err != nil {
				s.t.Error(err)
			}
			if !known {
				fresh.Add(1)
			}
			ids[i] = kept.ID
		})
	}
	wg.Wait()
	if fresh.Load() != 1 || len(slices.Compact(ids)) != 1 {
		s.t.Errorf("%d of %d senders with one key were first, and they got the receipts %v", fresh.Load(), senders, ids)
	}
}

// receiptID checks that the store refuses a second receipt with the same ID.
func receiptID(s *suite) {
	want := s.add(receipt("one", "s"))
	if _, _, err := s.Receipts.AddReceipt(s.ctx, receipt("one", "another")); err == nil {
		s.t.Error("a second receipt with the same id was accepted")
	}
	s.open(want)
}

// receiptSave checks that SaveReceipt replaces a receipt, except its number, session and key.
func receiptSave(s *suite) {
	one, two := s.add(receipt("one", "s")), s.add(receipt("two", "s"))
	changed := one
	changed.State, changed.Reason, changed.Attempts, changed.Content = prompt.Injected, "why", 3, nil
	changed.Steps = []prompt.Step{{State: prompt.Injected, At: start(), Detail: "d"}}
	changed.Seq, changed.Session, changed.Key = 999, "other", "other" // fields that SaveReceipt ignores
	s.must(s.Receipts.SaveReceipt(s.ctx, changed))
	changed.Seq, changed.Session, changed.Key, changed.Content = one.Seq, one.Session, one.Key, one.Content
	s.recheck(func() { s.open(changed, two) })
	changed.Content = runtime.TextContent("edited")
	s.must(s.Receipts.SaveReceipt(s.ctx, changed))
	s.recheck(func() { s.open(changed, two) })
	if err := s.Receipts.SaveReceipt(s.ctx, receipt("unknown", "s")); !errors.Is(err, prompt.ErrUnknown) {
		s.t.Errorf("the save of an unknown receipt is %v, want an error matching ErrUnknown", err)
	}
}

// receiptFinal checks that a consumed receipt has no content, that other final receipts keep it
// for a retry, and that a final receipt stays final.
func receiptFinal(s *suite) {
	r := s.add(receipt("one", "s"))
	open := r
	r.State, r.Reason = prompt.Consumed, "evidence"
	s.must(s.Receipts.SaveReceipt(s.ctx, r))
	r.Content = nil
	s.recheck(func() {
		s.open()
		got, err := s.Receipts.Receipt(s.ctx, "one")
		s.must(err)
		s.wantSame("the final receipt", r, got)
		if err := s.Receipts.SaveReceipt(s.ctx, open); !errors.Is(err, prompt.ErrEnded) {
			s.t.Errorf("a final receipt was opened again, error %v", err)
		}
		s.open()
	})
	dead := s.add(receipt("dead", "s"))
	dead.State, dead.Reason = prompt.Dead, "its instance ended"
	content := dead.Content
	dead.Content = nil
	s.must(s.Receipts.SaveReceipt(s.ctx, dead))
	dead.Content = content
	s.recheck(func() {
		s.open()
		got, err := s.Receipts.Receipt(s.ctx, "dead")
		s.must(err)
		s.wantSame("the dead receipt", dead, got)
	})
}

// receiptEnded checks that the final receipts are listed newest first, by session and up to a
// limit.
func receiptEnded(s *suite) {
	var want []string
	for i := range 5 {
		r := s.add(receipt(fmt.Sprint("r", i), fmt.Sprint("s", i%2)))
		r.State, r.UpdatedAt = prompt.Consumed, start().Add(time.Duration(i/2)*time.Second)
		s.must(s.Receipts.SaveReceipt(s.ctx, r))
		want = append([]string{r.ID}, want...)
	}
	s.add(receipt("open", "s0"))
	s.recheck(func() {
		s.ended("", 0, want...)
		s.ended("", 2, want[:2]...)
		s.ended("s1", 0, "r3", "r1")
		s.ended("s1", 1, "r3")
		s.ended("nobody", 0)
	})
}

// ended checks that EndedReceipts returns the receipts with these IDs, in this order.
func (s *suite) ended(session string, limit int, want ...string) {
	s.t.Helper()
	got, err := s.Receipts.EndedReceipts(s.ctx, session, limit)
	s.must(err)
	var ids []string
	for _, r := range got {
		ids = append(ids, r.ID)
		if r.Content != nil {
			s.t.Errorf("ended receipt %s has content", r.ID)
		}
	}
	s.wantSame("the list of ended receipts", want, ids)
}

// receiptForget checks that only old final receipts are deleted, and that their keys can be used
// again.
func receiptForget(s *suite) {
	old, recent, open := s.add(receipt("old", "s")), s.add(receipt("recent", "s")), s.add(receipt("open", "s"))
	last := receipt("last", "s")
	last.Key = "k"
	last = s.add(last)
	for i, r := range []prompt.Receipt{old, last, recent} {
		r.State, r.UpdatedAt = prompt.Expired, start().Add(time.Duration(i)*time.Hour)
		s.must(s.Receipts.SaveReceipt(s.ctx, r))
	}
	n, err := s.Receipts.DeleteReceipts(s.ctx, start().Add(2*time.Hour))
	s.must(err)
	if n != 2 {
		s.t.Errorf("%d receipts were forgotten, want 2", n)
	}
	s.recheck(func() {
		s.ended("", 0, "recent")
		s.open(open)
	})
	again := receipt("again", "s")
	again.Key = "k" // the key may be used again
	if kept := s.add(again); kept.Seq <= last.Seq {
		s.t.Errorf("Seq %d was given after %d", kept.Seq, last.Seq)
	}
}

// receiptOrder checks that Seq is the order of acceptance, even with many senders.
func receiptOrder(s *suite) {
	const senders, each = 8, 10
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			var last uint64
			for n := range each {
				kept, _, err := s.Receipts.AddReceipt(s.ctx, receipt(fmt.Sprintf("%d-%d", i, n), "s"))
				if err != nil || kept.Seq <= last {
					s.t.Errorf("sender %d got Seq %d after %d, error %v", i, kept.Seq, last, err)
				}
				last = kept.Seq
			}
		})
	}
	wg.Wait()
	s.recheck(func() {
		got, err := s.Receipts.OpenReceipts(s.ctx)
		s.must(err)
		if len(got) != senders*each {
			s.t.Fatalf("%d receipts are open, want %d", len(got), senders*each)
		}
		for i, r := range got[1:] {
			if r.Seq <= got[i].Seq {
				s.t.Errorf("receipt %s of Seq %d follows Seq %d", r.ID, r.Seq, got[i].Seq)
			}
		}
	})
}
