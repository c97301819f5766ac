package prompt

import (
	"testing"
	"time"

	"gascity/runtime"
)

var noon = time.Unix(100_000, 0)

// waiting returns a queued receipt, changed by edit.
func waiting(id string, edit func(*Receipt)) Receipt {
	r := Receipt{
		ID: id, State: Queued, Priority: Normal, Instance: "i1", CreatedAt: noon, ExpiresAt: noon.Add(time.Hour),
		Steps: []Step{{State: Queued, At: noon}},
	}
	if edit != nil {
		edit(&r)
	}
	return r
}

// submittedReceipt returns a receipt that was submitted with the given evidence.
func submittedReceipt(evidence string) Receipt {
	r := waiting("p", nil)
	r, _ = r.Move(Injected, noon, "")
	r, _ = r.ApplyAttempt(Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: evidence}}, noon)
	return r
}

// open returns the observation of a session that accepts prompts.
func open() Observation {
	return Observation{Known: true, Instance: "i1", Activity: runtime.ActivityReady}
}

// inTurn makes an agent busy with a turn that it has reported itself.
func inTurn(s *Observation) {
	s.Activity, s.IsCertain, s.Since, s.ReadAt = runtime.ActivityBusy, true, noon, noon
}

// TestDecide checks the next action for one receipt in many situations.
func TestDecide(t *testing.T) {
	injected, _ := waiting("p", nil).Move(Injected, noon, "")
	for _, c := range []struct {
		name    string
		receipt Receipt
		sight   func(*Observation)
		after   time.Duration // since noon
		want    Verb
		to      State
	}{
		{"deliverable", waiting("p", nil), nil, 0, VerbDeliver, ""},
		{"accepted only", waiting("p", func(r *Receipt) { r.State = Accepted }), nil, 0, VerbMove, Queued},
		{"over", waiting("p", nil), nil, time.Hour, VerbMove, Expired},
		{"unknown", waiting("p", nil), func(s *Observation) { *s = Observation{NotRunning: true, RemovedReason: "x", Instance: "i9"} }, 0, VerbWait, ""},
		{"unknown and over", waiting("p", nil), func(s *Observation) { *s = Observation{} }, time.Hour, VerbMove, Expired},
		{"shut", waiting("p", nil), func(s *Observation) { s.ClosedReason = "a question is up" }, 0, VerbWait, ""},
		{"held", waiting("p", nil), func(s *Observation) { s.HeldReason = "a budget" }, 0, VerbWait, ""},
		{"held and over", waiting("p", nil), func(s *Observation) { s.HeldReason = "a budget" }, time.Hour, VerbMove, Expired},
		{"held, asleep", waiting("p", func(r *Receipt) { r.Instance = "" }), func(s *Observation) {
			*s = Observation{Known: true, NotRunning: true, Asleep: true, HeldReason: "a budget"}
		}, 0, VerbWait, ""},
		{"held, handed over before", injected, func(s *Observation) { s.HeldReason = "a budget" }, 0, VerbResolve, ""},
		{"removed", waiting("p", nil), func(s *Observation) { s.RemovedReason = "removed" }, 0, VerbMove, Dead},
		{"backing off", waiting("p", func(r *Receipt) { r.NextAt = noon.Add(time.Minute) }), nil, 0, VerbWait, ""},
		{"backing off, changed", waiting("p", func(r *Receipt) { r.NextAt = noon.Add(time.Minute) }), func(s *Observation) { s.ChangedAt = noon }, 0, VerbDeliver, ""},

		{"during a turn", waiting("p", nil), inTurn, 0, VerbWait, ""},
		{"during a turn, changed", waiting("p", nil), func(s *Observation) { inTurn(s); s.ChangedAt = noon }, 0, VerbWait, ""},
		{"during a turn, too long", waiting("p", nil), inTurn, turnBound, VerbDeliver, ""},
		{"during a turn, too long, refused", waiting("p", func(r *Receipt) { r.NextAt = noon.Add(turnBound + 1) }), inTurn, turnBound, VerbWait, ""},
		{"during the turn of the one before", waiting("p", nil), func(s *Observation) { inTurn(s); s.AcceptedAt = noon.Add(turnBound) }, turnBound, VerbWait, ""},
		{"during a turn that is a guess", waiting("p", nil), func(s *Observation) { inTurn(s); s.IsCertain = false }, 0, VerbDeliver, ""},
		{"a hook has reported a turn", waiting("p", nil), func(s *Observation) { s.TurnAt, s.Since = noon, noon.Add(-1) }, 0, VerbWait, ""},
		{"a hook has reported a turn, and it was over", waiting("p", nil), func(s *Observation) { s.TurnAt, s.Since = noon, noon.Add(1) }, 0, VerbDeliver, ""},
		{"a hook has reported a turn that is never observed", waiting("p", nil), func(s *Observation) { s.TurnAt = noon }, hookReportWait, VerbDeliver, ""},
		{"urgent, a hook has reported a turn", waiting("p", func(r *Receipt) { r.Priority = Urgent }), func(s *Observation) { s.TurnAt = noon }, 0, VerbDeliver, ""},
		{"it may begin with the prompt of its command line", waiting("p", nil), func(s *Observation) { s.FirstPromptUntil = noon.Add(time.Second) }, 0, VerbWait, ""},
		{"it never began with it", waiting("p", nil), func(s *Observation) { s.FirstPromptUntil = noon.Add(time.Second) }, time.Second, VerbDeliver, ""},
		{"work in the background", waiting("p", nil), func(s *Observation) { inTurn(s); s.Activity = runtime.ActivityBackground }, 0, VerbDeliver, ""},
		{"activity not known", waiting("p", nil), func(s *Observation) { inTurn(s); s.Activity = runtime.ActivityUnknown }, 0, VerbDeliver, ""},
		{"system, during a turn", waiting("p", func(r *Receipt) { r.Priority = System }), inTurn, 0, VerbDeliver, ""},
		{"urgent, during a turn", waiting("p", func(r *Receipt) { r.Priority = Urgent }), inTurn, 0, VerbDeliver, ""},
		{"during a turn, over", waiting("p", func(r *Receipt) { r.ExpiresAt = noon.Add(time.Minute) }), inTurn, time.Minute, VerbMove, Expired},

		{"ended", waiting("p", nil), func(s *Observation) { s.Instance, s.NotRunning = "", true }, 0, VerbMove, Dead},
		{"between", waiting("p", nil), func(s *Observation) { s.Instance = "" }, 0, VerbWait, ""},
		{"successor", waiting("p", nil), func(s *Observation) { s.Instance = "i2" }, 0, VerbMove, Dead},
		{"successor wanted", waiting("p", func(r *Receipt) { r.Successor = true }), func(s *Observation) { s.Instance = "i2" }, 0, VerbDeliver, ""},
		{"same talk", waiting("p", func(r *Receipt) { r.Conversation = "t" }), func(s *Observation) { s.Instance, s.Conversation = "i2", "t" }, 0, VerbDeliver, ""},
		{"other talk", waiting("p", func(r *Receipt) { r.Conversation = "t" }), func(s *Observation) { s.Instance, s.Conversation = "i2", "u" }, 0, VerbMove, Dead},
		{"talk not known yet", waiting("p", func(r *Receipt) { r.Conversation = "t" }), func(s *Observation) { s.Instance = "i2" }, 0, VerbWait, ""},
		{"talk, down", waiting("p", func(r *Receipt) { r.Conversation = "t" }), func(s *Observation) { s.Instance, s.NotRunning = "", true }, 0, VerbWait, ""},
		{"for the next, asleep", waiting("p", func(r *Receipt) { r.Instance = "" }), func(s *Observation) { *s = Observation{Known: true, NotRunning: true, Asleep: true} }, 0, VerbWake, ""},
		{"waited when it was put to sleep", waiting("p", func(r *Receipt) { r.Instance, r.CreatedAt = "", noon.Add(-1) }), func(s *Observation) { *s = Observation{Known: true, NotRunning: true, Asleep: true, AsleepAt: noon} }, 0, VerbWait, ""},
		{"came after it was put to sleep", waiting("p", func(r *Receipt) { r.Instance, r.CreatedAt = "", noon.Add(1) }), func(s *Observation) { *s = Observation{Known: true, NotRunning: true, Asleep: true, AsleepAt: noon} }, 0, VerbWake, ""},
		{"for the next, down", waiting("p", func(r *Receipt) { r.Instance = "" }), func(s *Observation) { *s = Observation{Known: true, NotRunning: true} }, 0, VerbWait, ""},

		{"cut off", injected, nil, 0, VerbResolve, ""},
		{"cut off, unknown", injected, func(s *Observation) { *s = Observation{} }, 0, VerbWait, ""},
		{"cut off, successor", injected, func(s *Observation) { s.Instance = "i2" }, 0, VerbMove, Unconfirmed},
		{"cut off, down", injected, func(s *Observation) { s.Instance, s.NotRunning = "", true }, 0, VerbMove, Unconfirmed},
		{"cut off, never known", injected, func(s *Observation) { *s = Observation{} }, time.Hour, VerbMove, Unconfirmed},

		{"a turn began", submittedReceipt("composer_emptied+busy"), func(s *Observation) { s.Activity = runtime.ActivityUnknown }, 0, VerbMove, Consumed},
		{"its status says so", submittedReceipt("status"), nil, 0, VerbMove, Consumed},
		{"only emptied", submittedReceipt("composer_emptied"), nil, time.Minute, VerbWait, ""},
		{"read and resting", submittedReceipt("composer_emptied"), func(s *Observation) { s.ReadAt = noon.Add(1) }, idleConfirmation, VerbMove, Consumed},
		{"read, not resting yet", submittedReceipt("composer_emptied"), func(s *Observation) { s.ReadAt = noon.Add(1) }, idleConfirmation - 1, VerbWait, ""},
		{"read before", submittedReceipt("composer_emptied"), func(s *Observation) { s.ReadAt = noon.Add(-1) }, time.Minute, VerbWait, ""},
		{"still busy", submittedReceipt("composer_emptied"), func(s *Observation) { s.ReadAt, s.Activity = noon.Add(1), runtime.ActivityBusy }, time.Minute, VerbWait, ""},
		{"waits for a person", submittedReceipt("composer_emptied"), func(s *Observation) { s.ReadAt, s.Activity = noon.Add(1), runtime.ActivityWaiting }, time.Minute, VerbWait, ""},
		{"ended without a turn", submittedReceipt("composer_emptied"), func(s *Observation) { s.Instance, s.NotRunning = "", true }, 0, VerbMove, Submitted},
		{"ended after its turn began", submittedReceipt("busy"), func(s *Observation) { s.Instance, s.NotRunning = "", true }, 0, VerbMove, Consumed},
		{"taken, unknown", submittedReceipt("x"), func(s *Observation) { *s = Observation{NotRunning: true} }, time.Hour, VerbWait, ""},
		{"no turn for a day", submittedReceipt("x"), func(s *Observation) { *s = Observation{} }, ConsumeBound, VerbMove, Submitted},
	} {
		s := open()
		if c.sight != nil {
			c.sight(&s)
		}
		got := Decide([]*Receipt{&c.receipt}, s, noon.Add(c.after), "")
		if got.Verb != c.want || got.To != c.to {
			t.Errorf("%s: %s %s (%s), want %s %s", c.name, got.Verb, got.To, got.Detail, c.want, c.to)
		}
		if got.Verb == VerbWait && (got.At.IsZero() || !got.At.After(noon.Add(c.after))) {
			t.Errorf("%s: it waits until %v, want a time to come", c.name, got.At)
		}
	}
}

// TestPromptsStayInOrder checks that no prompt is sent before an earlier one that is refused, in
// delivery, or of unknown outcome.
func TestPromptsStayInOrder(t *testing.T) {
	first := waiting("first", func(r *Receipt) { r.Seq = 1 })
	second := waiting("second", func(r *Receipt) { r.Seq = 2 })
	if got := Decide([]*Receipt{&second, &first}, open(), noon, ""); got.ID != "first" {
		t.Errorf("%+v goes first", got)
	}
	refused := first
	refused.NextAt = noon.Add(time.Minute)
	if got := Decide([]*Receipt{&second, &refused}, open(), noon, ""); got.Verb != VerbWait || !got.At.Equal(refused.NextAt) {
		t.Errorf("behind a refused prompt: %+v, want to wait for it", got)
	}
	injected, _ := first.Move(Injected, noon, "")
	if got := Decide([]*Receipt{&second, &injected}, open(), noon, "first"); got.Verb != VerbWait {
		t.Errorf("during an attempt: %+v, want to wait", got)
	}
	unread := open()
	unread.Instance = ""
	if got := Decide([]*Receipt{&second, &injected}, unread, noon, ""); got.Verb != VerbWait || got.Detail == "" {
		t.Errorf("behind an unknown outcome: %+v, want to wait and say why", got)
	}
	urgent := waiting("urgent", func(r *Receipt) { r.Seq, r.Priority = 3, Urgent })
	if got := Decide([]*Receipt{&second, &first, &urgent}, open(), noon, ""); got.ID != "urgent" {
		t.Errorf("%+v goes before an urgent one", got)
	}
	gone := waiting("gone", func(r *Receipt) { r.Seq, r.Instance, r.Conversation = 0, "i0", "t" })
	if got := Decide([]*Receipt{&gone, &first}, open(), noon, ""); got.ID != "first" {
		t.Errorf("a prompt for a conversation that was not resumed delays the others: %+v", got)
	}
}

// TestPromptWaitsForTheReportedTurnOfTheOneBefore checks that, if an agent's hook reports the
// prompt of each turn, the next prompt waits until the hook has reported the previous one.
// Otherwise it would be typed into that turn.
func TestPromptWaitsForTheReportedTurnOfTheOneBefore(t *testing.T) {
	before, next := submittedReceipt("composer_emptied+status"), waiting("next", func(r *Receipt) { r.Seq = 2 })
	tells := open()
	tells.ReportsTurns, tells.Activity, tells.ReadAt, tells.AcceptedAt = true, runtime.ActivityIdle, noon.Add(1), noon
	heard := before.WithHookReport(noon)
	command := submittedReceipt("composer_emptied+command")
	for _, c := range []struct {
		name   string
		before Receipt
		sight  Observation
		after  time.Duration
		want   Verb
	}{
		{"not named yet", before, tells, 0, VerbWait},
		{"named", heard, tells, 0, VerbDeliver}, // what is known of its turn by then keeps it waiting
		{"never named", before, tells, hookReportWait, VerbMove},
		{"perhaps a command, which no hook names", command, tells, 0, VerbDeliver},
		{"no hook names any", submittedReceipt("composer_emptied"), open(), 0, VerbDeliver},
	} {
		got := Decide([]*Receipt{&c.before, &next}, c.sight, noon.Add(c.after), "")
		if got.Verb != c.want {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
		if got.Verb == VerbWait && !got.At.After(noon.Add(c.after)) {
			t.Errorf("%s: it waits until %v, want a time to come", c.name, got.At)
		}
	}
}

// TestIdleAgentDoesNotConsumeACommand checks that a prompt that may be a command of the agent CLI
// is not consumed because the agent is idle. Only a reported turn proves that.
func TestIdleAgentDoesNotConsumeACommand(t *testing.T) {
	rests := open()
	rests.ReadAt = noon.Add(workerIdleConfirmation)
	for evidence, want := range map[string]State{
		"composer_emptied":                  Consumed,
		"composer_emptied+command":          Submitted,
		"composer_emptied+command+consumed": Consumed,
		"status":                            Consumed,
		SignHook:                            Consumed,
	} {
		r := submittedReceipt(evidence)
		got := Decide([]*Receipt{&r}, rests, noon.Add(workerIdleConfirmation), "")
		if got.Verb != VerbMove || got.To != want || want == Submitted && got.Detail != reasonCommand {
			t.Errorf("%s: %+v, want it %s", evidence, got, want)
		}
	}
	seen := submittedReceipt("composer_emptied+status+command")
	if got := Decide([]*Receipt{&seen}, rests, noon.Add(workerIdleConfirmation), ""); got.To != Consumed {
		t.Errorf("a turn that was seen: %+v, want it consumed", got)
	}
	told := rests
	told.ReportsTurns = true
	if got := Decide([]*Receipt{&seen}, told, noon.Add(workerIdleConfirmation), ""); got.To != Submitted || got.Detail != reasonCommand {
		t.Errorf("busy for a moment, and no hook reports a turn: %+v, want it submitted", got)
	}
	r := submittedReceipt("composer_emptied+command")
	if got := Decide([]*Receipt{&r}, rests, noon.Add(idleConfirmation), ""); got.Verb != VerbWait {
		t.Errorf("so soon: %+v, want a wait for the word of a turn", got)
	}
	if got := Decide([]*Receipt{new(r.WithHookReport(noon))}, rests, noon.Add(workerIdleConfirmation), ""); got.To != Consumed {
		t.Errorf("a reported turn: %+v, want it consumed", got)
	}
}
