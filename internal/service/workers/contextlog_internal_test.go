package workers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/worker"
)

// TestEachSectionIsSentOncePerEpoch models a city that sends sections by messages and claims in any order, loses
// messages, and whose controller is killed. No section is sent twice in an epoch, except with the id of a
// message that may be lost.
func TestEachSectionIsSentOncePerEpoch(t *testing.T) {
	sections := []worker.Section{{Type: "role", Content: "r"}, {Type: "task", Content: "t"}, {Type: "history", Content: "h"}}
	rapid.Check(t, func(t *rapid.T) {
		record := contextLog{Pending: true}
		messages := map[string]string{} // message id by nonce
		alive := map[string]bool{}
		at, claims := time.Unix(1e9, 0), 0
		hear := func(id string, list []worker.Section) {
			for _, s := range list {
				if was, again := messages[s.Nonce]; again && was != id {
					t.Fatalf("%s is sent by %s and by %s", s.Type, was, id)
				}
				messages[s.Nonce] = id
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			at = at.Add(time.Second)
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				some := sections[:rapid.IntRange(1, 3).Draw(t, "n")]
				next, orders, _, err := record.AddCitySections("one", worker.Context{Sections: some}, at, func(id string) bool { return alive[id] })
				if err != nil {
					t.Fatal(err)
				}
				record = next
				for _, o := range orders {
					hear(o.ID, o.Sections)
					alive[o.ID] = true
				}
				for _, s := range some {
					if !slices.Contains(record.Types, s.Type) {
						t.Fatalf("%s is not noted: %+v", s.Type, record)
					}
				}
			case 1:
				claims++
				c := worker.ContextClaim{
					ID: fmt.Sprint("claim-", claims), ConversationID: fmt.Sprint(claims), Limit: rapid.SampledFrom([]int{0, 25, 50}).Draw(t, "limit"),
					Source: rapid.SampledFrom([]worker.Beginning{worker.BeganFresh, worker.BeganCleared, worker.BeganCompacted, worker.BeganResumed, "dreamt"}).Draw(t, "source"),
				}
				epoch := record.Epoch
				record, _ = record.Began(c, at)
				if record.Epoch < epoch || record.Epoch > epoch+1 {
					t.Fatalf("epoch %d follows %d", record.Epoch, epoch)
				}
				var first []worker.Section
				for i := range rapid.IntRange(1, 3).Draw(t, "repeated") {
					next, given, _ := record.Fetch("one", c, sections)
					record = next
					hear(c.ID, given)
					if i == 0 {
						first = given
					} else if !slices.Equal(first, given) {
						t.Fatalf("the same claim has %v and then %v", first, given)
					}
				}
			case 2: // the controller is killed
				alive = map[string]bool{}
			case 3:
				for id := range record.Open {
					record = record.Closed(id)
				}
			case 4:
				if next, _, ok := record.Compact(compactionReport{At: at}, at); ok {
					record = next
				}
			}
		}
	})
}

// TestChangedSectionsAreSentAgain proves which sections of a request are sent: those that are new, those whose
// content changed, and in the modes compact and resume all of them. A repeated request sends nothing. Each
// version has its own nonce and message, without a limit.
func TestChangedSectionsAreSentAgain(t *testing.T) {
	at := time.Unix(1e9, 0)
	record := contextLog{}.Carried([]string{"role", "checkpoint"}, []worker.Section{{Type: "role", Content: "r"}})
	nonces, ids := map[string]bool{}, map[string]bool{}
	send := func(mode worker.ContextMode, kind, content string) (sent bool, why string) {
		t.Helper()
		next, orders, skipped, err := record.Send("one", worker.Context{Mode: mode, Sections: []worker.Section{{Type: kind, Content: content}}}, at, func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		record = next
		for _, o := range orders {
			if ids[o.ID] || nonces[o.Sections[0].Nonce] {
				t.Errorf("%s %q goes under the name %s with the nonce %s of another one", kind, content, o.ID, o.Sections[0].Nonce)
			}
			ids[o.ID], nonces[o.Sections[0].Nonce] = true, true
			record = record.Closed(o.ID)
		}
		return len(orders) > 0, skipped[kind]
	}
	for i, step := range []struct {
		mode          worker.ContextMode
		kind, content string
		after         time.Duration
		want          bool
	}{
		{worker.FullContext, "role", "r", 0, false},      // sent with the start
		{worker.FullContext, "checkpoint", "c", 0, true}, // the start sent another, unknown version
		{worker.FullContext, "checkpoint", "c", 0, false},
		{worker.FullContext, "mail", "2 unread", 0, true},
		{worker.FullContext, "mail", "2 unread", 0, false},
		{worker.FullContext, "mail", "5 unread", 0, true},
		{"", "mail", "5 unread", 0, false},
		{worker.FullContext, "mail", "2 unread", 0, true},
		{worker.CompactContext, "mail", "2 unread", 0, true},
		{worker.CompactContext, "mail", "2 unread", time.Second, false}, // a repeated request
		{worker.CompactContext, "mail", "2 unread", time.Hour, true},    // another compaction
		{worker.ResumeContext, "mail", "2 unread", 0, true},
		{worker.ResumeContext, "role", "r", 0, true},
	} {
		at = at.Add(step.after)
		if sent, why := send(step.mode, step.kind, step.content); sent != step.want || sent == (why != "") {
			t.Errorf("step %d: %s %q in mode %q is sent: %v (%s), want %v", i, step.kind, step.content, step.mode, sent, why, step.want)
		}
	}
	for n := range 3 * maxSections {
		if sent, _ := send(worker.FullContext, "mail", fmt.Sprint(n, " unread")); !sent {
			t.Fatalf("change %d is not sent", n)
		}
	}
}

// TestUnseenSectionsAreSentAgain: a claim that only the killed controller knew completely is sent again for the
// missing nonces, and only for those.
func TestUnseenSectionsAreSentAgain(t *testing.T) {
	c := worker.ContextClaim{ID: "claim-1", Source: worker.BeganFresh}
	record, _ := contextLog{Pending: true}.Began(c, time.Unix(1e9, 0))
	record, given, all := record.Fetch("one", c, []worker.Section{{Type: "role", Content: "r"}, {Type: "task", Content: "t"}})
	if len(given) != 2 || !all {
		t.Fatalf("fetched %v", given)
	}
	record.Pending = false
	if seen := record.Unseen("one", c.ID, []string{given[0].Nonce, given[1].Nonce}); seen.Pending || len(seen.Types) != 2 {
		t.Errorf("all was seen: %+v", seen)
	}
	if missed := record.Unseen("one", c.ID, nil); !missed.Pending {
		t.Errorf("nothing was seen: %+v", missed)
	}
}

// TestAnotherConversationStartsAnEpoch: an agent CLI reports a new conversation in the same process as a
// start. It gets the sections again. For the same conversation it does not.
func TestAnotherConversationStartsAnEpoch(t *testing.T) {
	at := time.Unix(1e9, 0)
	record, _ := contextLog{}.Began(worker.ContextClaim{ID: "claim-1", Source: worker.BeganFresh, ConversationID: "one"}, at)
	if again, _ := record.Began(worker.ContextClaim{ID: "claim-2", Source: worker.BeganFresh, ConversationID: "one"}, at); record.Epoch != 0 || again.Epoch != 0 || again.Pending {
		t.Errorf("the same conversation began an epoch: %+v", again)
	}
	if other, _ := record.Began(worker.ContextClaim{ID: "claim-2", Source: worker.BeganFresh, ConversationID: "two"}, at); other.Epoch != 1 || !other.Pending || other.Mode != worker.FullContext {
		t.Errorf("another conversation began none: %+v", other)
	}
}
