package cityservice

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func prompted(id uint64, at time.Time, text string) client.ConversationEntry {
	return client.ConversationEntry{ID: id, Time: at, Kind: client.EntryPrompt, Text: text, From: client.PromptByTerminal}
}

func receipt(id, state, text string, at time.Time) client.Receipt {
	return client.Receipt{ID: id, State: state, Text: text[:min(len(text), 200)], Bytes: len(text), CreatedAt: at, Source: "maria"}
}

// TestPromptsOfATranscriptAreMatchedWithReceipts checks that a prompt in a transcript is shown with
// the receipt of the prompt that gc sent, if there is one.
func TestPromptsOfATranscriptAreMatchedWithReceipts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word \n ", 100)
	entries := []client.ConversationEntry{
		prompted(1, noon, "[town] coder • 2026-11-26T12:00:00\n\nDo it."),
		prompted(2, noon.Add(time.Minute), "the same"),
		prompted(3, noon.Add(2*time.Minute), "the same"),
		prompted(4, noon.Add(3*time.Minute), "typed by a person"),
		prompted(5, noon.Add(4*time.Minute), strings.TrimSpace(long)),
		prompted(6, noon.Add(5*time.Minute), "Read the file /x/p-file and follow it as if it were my message."),
		prompted(7, noon.Add(6*time.Minute), "waits"),
		prompted(8, noon.Add(7*time.Minute), "twice in the queue"),
		prompted(9, noon.Add(8*time.Minute), "twice in the queue"),
	}
	byFile := receipt("p-file", client.ReceiptSubmitted, "secret plan", noon.Add(5*time.Minute))
	byFile.ByFile = "/x/p-file"
	attribute(entries, []client.Receipt{
		receipt("p-2", client.ReceiptConsumed, "the same", noon.Add(50*time.Second)),
		receipt("p-3", client.ReceiptUnconfirmed, "the same", noon.Add(110*time.Second)),
		receipt("p-late", client.ReceiptConsumed, "typed by a person", noon.Add(time.Hour)), // a later prompt of the same text
		receipt("p-long", client.ReceiptConsumed, long, noon),
		byFile,
		receipt("p-first", client.ReceiptConsumed, "twice in the queue", noon),
		receipt("p-second", client.ReceiptConsumed, "twice in the queue", noon.Add(time.Second)),
		receipt("p-queued", client.ReceiptQueued, "waits", noon), // not sent, so it is not this one
	})
	var got []string
	for _, e := range entries {
		got = append(got, e.From+" "+e.Receipt+" "+e.State)
	}
	want := []string{"start  ", "receipt p-2 consumed", "receipt p-3 unconfirmed", "terminal  ", "receipt p-long consumed", "receipt p-file submitted", "terminal  ", "receipt p-first consumed", "receipt p-second consumed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestConversationWithoutATranscript checks that, without a transcript, a conversation shows only
// the prompts that gc has sent and what was reported.
func TestConversationWithoutATranscript(t *testing.T) {
	t.Parallel()
	var c client.Conversation
	tools := []client.ConversationEntry{
		{Kind: client.EntryTool, Time: noon.Add(90 * time.Second), Tool: &client.ConversationTool{Name: "bash", Status: client.ToolDone}},
		{Kind: client.EntryTool, Time: noon.Add(-time.Hour), Tool: &client.ConversationTool{Name: "old", Status: client.ToolDone}},
	}
	fromReceipts(&c, []client.Receipt{
		receipt("p-2", client.ReceiptDead, "two", noon.Add(2*time.Minute)), receipt("p-1", client.ReceiptConsumed, strings.Repeat("x", 300), noon.Add(time.Minute)),
		receipt("p-old", client.ReceiptConsumed, "of the last conversation", noon.Add(-time.Hour)),
	}, tools, noon)
	var got []string
	for i, e := range c.Entries {
		if i > 0 && e.ID <= c.Entries[i-1].ID {
			t.Errorf("IDs do not increase: %d after %d", e.ID, c.Entries[i-1].ID)
		}
		got = append(got, e.Kind+" "+e.Receipt+" "+e.State)
	}
	if diff := cmp.Diff([]string{"prompt p-1 consumed", "tool  ", "prompt p-2 dead"}, got); diff != "" {
		t.Error(diff)
	}
	if c.Turns != 2 || c.Entries[0].Bytes != 300 {
		t.Errorf("%d turns, %d bytes", c.Turns, c.Entries[0].Bytes)
	}
}

// TestPagesOfAConversation checks which entries of a conversation a query selects.
func TestPagesOfAConversation(t *testing.T) {
	t.Parallel()
	all := client.Conversation{Turns: 30}
	for i := range uint64(300) {
		all.Entries = append(all.Entries, client.ConversationEntry{ID: 10 * (i + 1), Turn: int(i)/10 + 1, Time: noon.Add(time.Duration(i) * time.Second)}) //nolint:gosec // small
	}
	for _, c := range []struct {
		query       client.ConversationQuery
		first, last uint64
		count       int
		more        bool
	}{
		{client.ConversationQuery{}, 2010, 3000, 100, true},
		{client.ConversationQuery{Limit: 7, Before: 100}, 30, 90, 7, true},
		{client.ConversationQuery{Limit: 9, Before: 100}, 10, 90, 9, false},
		{client.ConversationQuery{Turn: 1}, 2910, 3000, 10, false},
		{client.ConversationQuery{Turn: 30}, 10, 100, 10, false},
		{client.ConversationQuery{Turn: 31}, 0, 0, 0, false},
		{client.ConversationQuery{Since: noon.Add(298 * time.Second)}, 2990, 3000, 2, false},
		{client.ConversationQuery{Until: noon.Add(time.Second)}, 10, 20, 2, false},
	} {
		page := all
		selectEntries(&page, c.query)
		first, last := uint64(0), uint64(0)
		if n := len(page.Entries); n > 0 {
			first, last = page.Entries[0].ID, page.Entries[n-1].ID
		}
		if first != c.first || last != c.last || len(page.Entries) != c.count || page.More != c.more {
			t.Errorf("%+v: %d entries from %d to %d, more %v", c.query, len(page.Entries), first, last, page.More)
		}
	}
}

// A follower without a transcript waits for an event of the session or for a transcript: the time alone makes it read nothing.
func TestAFollowerReadsOnlyAfterAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var appeared atomic.Bool
		var searches atomic.Int64
		events := make(chan struct{}, 1)
		w := &conversationFollower{events: events, appeared: func() bool { searches.Add(1); return appeared.Load() }}
		waits := func() <-chan error {
			ended := make(chan error, 1)
			go func() { ended <- w.wait(t.Context()) }()
			return ended
		}
		ended := waits()
		time.Sleep(time.Hour) // of the bubble
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("the follower reads without a change: %v", err)
		default:
		}
		if n := searches.Load(); n < 1000 {
			t.Errorf("in an hour the follower searched %d times for a transcript", n)
		}
		events <- struct{}{}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended = waits()
		synctest.Wait()
		appeared.Store(true)
		before := time.Now()
		if err := <-ended; err != nil || time.Since(before) > searchEvery {
			t.Errorf("a transcript that appears is found after %v: %v", time.Since(before), err)
		}
		close(events)
		if err := w.wait(t.Context()); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("at the end of the events: %v", err)
		}
	})
}
