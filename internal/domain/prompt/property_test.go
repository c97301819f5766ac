package prompt

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/runtime"
)

// simulation is a model of one session and its receipts, to which anything happens.
type simulation struct {
	now      time.Time
	receipts []Receipt
	sight    Observation
	flight   string
	bytes    map[string]int // how often the text may have reached an agent
	removed  map[string]int // how often it was sent and removed again
	began    time.Time      // of the controller
}

// TestReceiptsReconcile checks for random histories that no receipt is lost, that none changes after its final state, that the
// order stays, that no text is sent twice without proof that the agent does not have it, and that no receipt is open for longer
// than its limit.
func TestReceiptsReconcile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &simulation{now: noon, sight: open(), bytes: map[string]int{}, removed: map[string]int{}}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			w.happen(t)
			w.work(t)
			w.check(t)
		}
		w.flight = ""
		w.now = w.now.Add(2 * ConsumeBound)
		w.sight = Observation{}
		w.work(t)
		for _, r := range w.receipts {
			if !r.Final() {
				t.Fatalf("%s is %s for ever", r.ID, r.State)
			}
		}
	})
}

// happen makes one random event: a new prompt, an observation, the end of an attempt, or the end of a controller.
func (w *simulation) happen(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * time.Millisecond)
	switch rapid.SampledFrom([]string{"send", "send", "sight", "sight", "land", "land", "crash", "cancel", "sleep"}).Draw(t, "event") {
	case "send":
		r := Receipt{
			ID: string(rune('a' + len(w.receipts))), Seq: uint64(len(w.receipts) + 1), State: Accepted, CreatedAt: w.now,
			ExpiresAt: w.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "ttl")) * time.Second),
			Priority:  rapid.SampledFrom([]Priority{System, Urgent, Normal}).Draw(t, "priority"), Instance: w.sight.Instance,
			Successor: rapid.Bool().Draw(t, "successor"), Conversation: rapid.SampledFrom([]string{"", "talk"}).Draw(t, "talk"),
		}
		w.receipts = append(w.receipts, r.AddStep(w.now, "sent"))
	case "sight":
		w.sight = drawObservation(t, w.now)
		w.sight.WatchedFrom = w.began
	case "land":
		if i := w.find(w.flight); i >= 0 {
			w.flight = ""
			w.land(t, i)
		}
	case "crash":
		w.flight, w.began = "", w.now
		w.sight.WatchedFrom = w.now
	case "cancel":
		for i, r := range w.receipts {
			if r.IsQueued() {
				w.move(t, i, Cancelled)
				break
			}
		}
	case "sleep":
		w.now = w.now.Add(30 * time.Second)
	}
}

// drawObservation draws a random observation of the session.
func drawObservation(t *rapid.T, now time.Time) Observation {
	s := Observation{
		Known: rapid.Bool().Draw(t, "known"), Instance: rapid.SampledFrom([]string{"", "i1", "i2"}).Draw(t, "instance"),
		Conversation: rapid.SampledFrom([]string{"", "talk", "other"}).Draw(t, "conversation"),
		ClosedReason: rapid.SampledFrom([]string{"", "", "busy"}).Draw(t, "shut"),
		Activity:     rapid.SampledFrom([]runtime.Activity{runtime.ActivityIdle, runtime.ActivityBusy, runtime.ActivityUnknown}).Draw(t, "activity"),
		ReadAt:       now, Since: now,
	}
	s.NotRunning = s.Instance == "" && rapid.Bool().Draw(t, "down")
	s.IsCertain = rapid.Bool().Draw(t, "sure")
	s.Asleep = s.NotRunning && rapid.Bool().Draw(t, "asleep")
	return s
}

// land ends the attempt in progress with a random outcome.
func (w *simulation) land(t *rapid.T, i int) {
	out := rapid.SampledFrom([]runtime.Outcome{
		{State: runtime.OutcomeSubmitted, Evidence: "composer_emptied+busy"},
		{State: runtime.OutcomeSubmitted, Evidence: "composer_emptied"},
		{State: runtime.OutcomeUnconfirmed},
		{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy},
		{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent},
		{State: runtime.OutcomeAbsent},
		{State: runtime.OutcomeUnsupported},
		{},
	}).Draw(t, "outcome")
	withdrawn := out.State == runtime.OutcomeUnconfirmed && rapid.Bool().Draw(t, "withdrawn")
	if out.State == runtime.OutcomeSubmitted || out.State == runtime.OutcomeUnconfirmed && !withdrawn || out.State == "" {
		w.bytes[w.receipts[i].ID]++
	}
	if withdrawn {
		w.removed[w.receipts[i].ID]++
	}
	r, err := w.receipts[i].ApplyAttempt(Attempt{Outcome: out, Withdrawn: withdrawn}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.receipts[i] = r
}

// work does the actions that Decide returns until it returns a wait.
func (w *simulation) work(t *rapid.T) {
	for range 200 {
		var receipts []*Receipt
		for _, r := range w.receipts {
			if !r.Final() {
				receipts = append(receipts, &r)
			}
		}
		a := Decide(receipts, w.sight, w.now, w.flight)
		i := w.find(a.ID)
		switch a.Verb {
		case VerbMove:
			w.move(t, i, a.To)
		case VerbDeliver:
			w.deliver(t, i)
		case VerbResolve:
			if rapid.Bool().Draw(t, "proof") {
				w.move(t, i, Queued)
			} else {
				w.move(t, i, Unconfirmed)
			}
		case VerbWake:
			w.sight = Observation{Known: true}
		case VerbWait:
			if len(receipts) > 0 && a.At.IsZero() && w.flight == "" {
				t.Fatalf("it waits for ever with %d receipts open", len(receipts))
			}
			return
		}
	}
	t.Fatal("it never rests")
}

// deliver begins an attempt and fails if the prompt must not be sent now.
func (w *simulation) deliver(t *rapid.T, i int) {
	r := w.receipts[i]
	if w.flight != "" || !w.sight.Known || w.sight.Instance == "" || w.sight.ClosedReason != "" {
		t.Fatalf("%s is delivered during %q to %+v", r.ID, w.flight, w.sight)
	}
	if in := w.sight; r.Priority == Normal && in.Activity == runtime.ActivityBusy && in.IsCertain && w.now.Before(r.CreatedAt.Add(turnBound)) {
		t.Fatalf("%s is delivered at %s during a turn: %+v", r.ID, w.now, in)
	}
	for _, other := range w.receipts {
		if other.State == Queued && Compare(&other, &r) < 0 && other.Instance == r.Instance && other.Successor == r.Successor && other.Conversation == r.Conversation {
			t.Fatalf("%s overtakes %s", r.ID, other.ID)
		}
	}
	if w.bytes[r.ID] > 0 {
		t.Fatalf("%s is sent again without proof", r.ID)
	}
	r.Instance = w.sight.Instance
	r.Attempts++
	w.receipts[i] = r
	w.move(t, i, Injected)
	w.flight = r.ID
}

// move changes the state of a receipt and fails if that is not allowed.
func (w *simulation) move(t *rapid.T, i int, to State) {
	before := w.receipts[i]
	r, err := w.receipts[i].Move(to, w.now, "")
	if err != nil || before.Final() {
		t.Fatalf("%s: %s to %s: %v", r.ID, before.State, to, err)
	}
	if before.State == Submitted && r.State != Submitted && r.State != Consumed {
		t.Fatalf("%s went back from %s to %s", r.ID, before.State, r.State)
	}
	w.receipts[i] = r
}

// find returns the index of the receipt with an ID; -1 if there is none.
func (w *simulation) find(id string) int {
	for i, r := range w.receipts {
		if id != "" && r.ID == id {
			return i
		}
	}
	return -1
}

// check fails if the receipts break a rule that must always hold.
func (w *simulation) check(t *rapid.T) {
	injected := 0
	for _, r := range w.receipts {
		if r.State == Injected {
			injected++
		}
		if w.bytes[r.ID] > 1 || w.bytes[r.ID] == 1 && (r.State == Dead || r.State == Expired || r.State == Cancelled) {
			t.Fatalf("%s is %s and its text was sent %d times", r.ID, r.State, w.bytes[r.ID])
		}
		if w.removed[r.ID] > MaxSentBack+1 {
			t.Fatalf("%s was sent and removed %d times", r.ID, w.removed[r.ID])
		}
		if limit := r.Limit(w.sight); !r.Final() && r.ID != w.flight && !w.now.Before(limit) {
			t.Fatalf("%s is %s at %s, beyond %s", r.ID, r.State, w.now, limit)
		}
	}
	if injected > 1 {
		t.Fatalf("%d prompts are on their way at once", injected)
	}
}
