package session_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/worker"
)

var start = time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)

// report returns a report of a transition, at a time in seconds.
func report(event worker.Transition, at int) worker.Lifecycle {
	return worker.Lifecycle{Event: event, Timestamp: start.Add(time.Duration(at) * time.Second)}
}

// historyOf returns the history after the given reports.
func historyOf(reports ...worker.Lifecycle) session.RunHistory {
	var l session.RunHistory
	for _, r := range reports {
		l, _ = l.Apply(r, start.Add(time.Hour))
	}
	return l
}

// TestStates checks the current transition and the activity after several reports of a worker.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		name    string
		reports []worker.Lifecycle
		want    worker.Transition
		shows   runtime.Activity
	}{
		{"nothing", nil, "", ""},
		{"started", []worker.Lifecycle{report(worker.Started, 1)}, worker.Started, runtime.ActivityUnknown},
		{"ready", []worker.Lifecycle{report(worker.Started, 1), report(worker.Ready, 2)}, worker.Ready, runtime.ActivityIdle},
		{"a turn", []worker.Lifecycle{report(worker.Ready, 1), report(worker.Busy, 2)}, worker.Busy, runtime.ActivityBusy},
		{"its end", []worker.Lifecycle{report(worker.Busy, 1), report(worker.Idle, 2)}, worker.Idle, runtime.ActivityIdle},
		{"an end that comes late", []worker.Lifecycle{report(worker.Busy, 5), report(worker.Idle, 2)}, worker.Busy, runtime.ActivityBusy},
		{"stopped", []worker.Lifecycle{report(worker.Stopped, 3), report(worker.Busy, 9)}, worker.Stopped, runtime.ActivityUnknown},
		{"begun again", []worker.Lifecycle{report(worker.Stopped, 3), report(worker.Started, 4), report(worker.Idle, 2)}, worker.Started, runtime.ActivityUnknown},
		{"a word that is not known", []worker.Lifecycle{report(worker.Idle, 3), report("dreaming", 4)}, worker.Idle, runtime.ActivityIdle},
	} {
		l := historyOf(c.reports...)
		e, _ := l.Evidence(start)
		if l.State() != c.want || e.Activity != c.shows {
			t.Errorf("%s: got %q, %q; want %q, %q", c.name, l.State(), e.Activity, c.want, c.shows)
		}
	}
}

// TestOrderAndRepetitionChangeNothing checks that the same reports in any order, each once or
// several times, give the same history.
func TestOrderAndRepetitionChangeNothing(t *testing.T) {
	events := []worker.Transition{worker.Started, worker.Ready, worker.Busy, worker.Idle, worker.Stopping, worker.Stopped, "dreaming"}
	rapid.Check(t, func(t *rapid.T) {
		var reports []worker.Lifecycle
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			r := report(rapid.SampledFrom(events).Draw(t, "event"), rapid.IntRange(0, 5).Draw(t, "at"))
			r.Seq = uint64(i + 1)
			reports = append(reports, r)
		}
		want := historyOf(reports...)
		shuffled := append(rapid.Permutation(reports).Draw(t, "order"), reports[:len(reports)/2]...)
		if diff := cmp.Diff(want, historyOf(shuffled...)); diff != "" {
			t.Fatalf("(-in order +shuffled)\n%s", diff)
		}
	})
}

// TestReportInTheFutureCountsAsNow checks that the report of a worker whose clock is a day ahead
// does not keep later reports from counting.
func TestReportInTheFutureCountsAsNow(t *testing.T) {
	l, _ := session.RunHistory{}.Apply(report(worker.Busy, 3600*24), start)
	l, _ = l.Apply(report(worker.Idle, 1), start.Add(time.Second))
	if l.State() != worker.Idle {
		t.Errorf("a clock that is a day ahead holds the run in %q", l.State())
	}
}

// TestEachRunAndGenerationHasItsOwnToken checks that the token of a worker is different for each
// run and each generation, and always the same for the same ones.
func TestEachRunAndGenerationHasItsOwnToken(t *testing.T) {
	seen := map[string]bool{}
	for _, instance := range []string{"a", "b", ""} {
		for generation := range 3 {
			token := session.WorkerToken(instance, generation)
			if seen[token] || len(token) < 40 || instance != "" && strings.Contains(token, instance+instance) {
				t.Errorf("token of %q, generation %d: %q", instance, generation, token)
			}
			seen[token] = true
			if token != session.WorkerToken(instance, generation) {
				t.Error("a token changes")
			}
		}
	}
	if session.RunID("a") == session.RunID("b") || strings.Contains(session.RunID("secret"), "secret") {
		t.Error("run ids reveal too much or too little")
	}
}

// TestReportsWithinOneSecondKeepTheirOrder checks that reports with the same time, from a clock of
// whole seconds, count in the order in which they arrived.
func TestReportsWithinOneSecondKeepTheirOrder(t *testing.T) {
	l := historyOf(report(worker.Started, 1), report(worker.Ready, 1), report(worker.Busy, 1), report(worker.Idle, 1), report(worker.Busy, 1))
	if l.State() != worker.Idle {
		t.Errorf("after a turn within a second, and a repetition, the run is %q", l.State())
	}
}

// TestMemoryOfARunIsBounded checks that what gc stores about a run stays small, whatever the worker
// reports and however little it acknowledges.
func TestMemoryOfARunIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	r := report(worker.Started, 1)
	r.Metadata = worker.Detail{Reason: long, Agent: long, Offers: slices.Repeat([]string{long}, 1000)}
	text, err := json.Marshal(historyOf(r))
	if err != nil || len(text) > 16<<10 {
		t.Errorf("a report is remembered with %d bytes, %v", len(text), err)
	}
	var box session.Mailbox
	for i := range 10_000 { // acknowledged, and never ended
		box.AckUnknown(worker.Ack{ID: strconv.Itoa(i), State: worker.Received, Detail: long})
	}
	if box.Find("9999") == nil || box.Find("1") != nil {
		t.Error("what was acknowledged is not forgotten, or the newest is")
	}
	var done session.Mailbox
	for i := range 1000 {
		id := strconv.Itoa(i)
		put(t, &done, id)
		done.Ack(worker.Ack{ID: id, State: worker.Consumed})
	}
	if done.Find("999") == nil || done.Find("940") == nil || done.Find("900") != nil {
		t.Error("too much of what has ended is remembered, or too little")
	}
	n := 0
	for ; n < 10_000; n++ { // never fetched
		if _, err := box.Put(message("m" + strconv.Itoa(n))); err != nil {
			break
		}
	}
	if n != 256 || box.Find("m0") == nil {
		t.Errorf("%d messages wait for a worker that fetches none", n)
	}
}

// TestMessagesKeepTheirOrderUnderAnotherController checks that a worker with event numbers of a
// previous controller gets the waiting messages in the order in which they were added.
func TestMessagesKeepTheirOrderUnderAnotherController(t *testing.T) {
	var box session.Mailbox
	for _, id := range []string{"a", "b", "c"} {
		put(t, &box, id)
	}
	open, _ := box.Open(2)
	if ids(open) != "a b c" || open[0].Seq <= 2 || open[1].Seq <= open[0].Seq || open[2].Seq <= open[1].Seq {
		t.Errorf("got %v", open)
	}
}

// message returns a message with an ID.
func message(id string) worker.Message {
	return worker.Message{ID: id, Kind: worker.PromptMessage, Data: json.RawMessage(`{}`)}
}

// put adds a message to a mailbox; an error ends the test.
func put(t interface{ Fatal(args ...any) }, box *session.Mailbox, id string) {
	if _, err := box.Put(message(id)); err != nil {
		t.Fatal(err)
	}
}

// ids returns the IDs of messages, separated by blanks.
func ids(list []worker.Message) string {
	var out []string
	for _, m := range list {
		out = append(out, m.ID)
	}
	return strings.Join(out, " ")
}

// TestUnacknowledgedMessagesAreSentAgain checks, for a worker that disconnects at random, that it
// gets every message at least once, in order, and none again that it has acknowledged.
func TestUnacknowledgedMessagesAreSentAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var box session.Mailbox
		var last uint64
		acked := map[string]bool{}
		sent, n := 0, 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				n++
				put(t, &box, string(rune('A'+n%50)))
			case 1:
				open, gap := box.Open(last)
				if gap != nil {
					t.Fatalf("a gap after %d", last)
				}
				for _, m := range open {
					if m.Seq <= last {
						t.Fatalf("message %s has number %d after %d", m.ID, m.Seq, last)
					}
					if acked[m.ID] {
						t.Fatalf("message %s is sent again after it was acknowledged", m.ID)
					}
					last = m.Seq
					sent++
				}
			case 2:
				id := string(rune('A' + rapid.IntRange(1, 50).Draw(t, "id")%50))
				if l, news := box.Ack(worker.Ack{ID: id, State: worker.Received}); l != nil && news {
					acked[id] = true
				}
			}
		}
	})
}

// TestMailbox checks adding, reading, acknowledging and removing messages of a mailbox.
func TestMailbox(t *testing.T) {
	var box session.Mailbox
	put(t, &box, "a")
	put(t, &box, "b")
	if again, err := box.Put(message("a")); err != nil || again.Seq != 1 {
		t.Error("a message was put twice")
	}
	open, _ := box.Open(0)
	if ids(open) != "a b" {
		t.Errorf("got %s", ids(open))
	}
	box.Find("a").Sent = true
	if box.Withdraw("a") || !box.Withdraw("b") {
		t.Error("a message that was sent was taken back, or one that was not was kept")
	}
	if _, news := box.Ack(worker.Ack{ID: "a", State: worker.Submitted}); !news {
		t.Error("submitted is no news")
	}
	if _, news := box.Ack(worker.Ack{ID: "a", State: worker.Received}); news {
		t.Error("a message went back")
	}
	if open, gap := box.Open(40); len(open) != 0 || gap == nil || gap.Next != 41 {
		t.Errorf("after a number that was never given: %v, %+v", open, gap)
	}
	if later, err := box.Put(message("c")); err != nil || later.Seq <= 40 {
		t.Error("numbers went back")
	}
}
