package prompt

import (
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// Observation is what is known of the session of a queue at one moment.
type Observation struct {
	// Known is false if nothing may be concluded from the rest: nothing is sent
	// and nothing is declared dead.
	Known bool
	// RemovedReason says why the target is not in the city any more; empty: it is.
	RemovedReason string
	// Instance is the public name of the instance that runs, Down says that none
	// does. Neither is between the two: it starts, or winds down.
	Instance   string
	NotRunning bool
	Asleep     bool // it is down and a prompt may start it
	// AsleepAt is when it was put to sleep; zero: not known. What waited then goes on
	// waiting: who puts an agent to sleep has seen it.
	AsleepAt time.Time

	Conversation string // of the instance that runs, or of the last one
	ClosedReason string // why it takes no prompt now; empty: it may
	// HeldReason says why it gets no new prompts although it may accept them: none is
	// delivered, and it is not started for one. What is on its way already ends as it
	// does.
	HeldReason string
	Attached   int
	// Obstacle says what keeps the agent from working on prompts, such as a login that is
	// needed; empty: nothing does. One prompt is tried at ProbeAt.
	Obstacle string
	ProbeAt  time.Time

	Activity     runtime.Activity
	IsCertain    bool      // the activity is more than a guess
	Since        time.Time // of the activity
	ReadAt       time.Time // when the activity was read
	AcceptedAt   time.Time // when the instance that runs last took a prompt; zero: not known
	ReportsTurns bool      // a hook of the agent's names each prompt that begins a turn
	// TurnAt is when a hook reported the beginning of a turn without a reported end; zero:
	// none. It may be known sooner than the activity.
	TurnAt time.Time
	// FirstPromptUntil is until when the instance may begin with the prompt of its command line,
	// which its hook has not reported; zero: it does not.
	FirstPromptUntil time.Time
	ChangedAt        time.Time // attempts are worth while from then on, whatever NextAt says; zero: they are not

	// Progress is how long a delivery may go without progress; zero is DefaultProgress.
	Progress time.Duration
	// WatchedFrom is since when this controller can ask about deliveries of earlier ones.
	WatchedFrom time.Time
	// AdoptedAt is when this controller took over an instance that ran before it, as long
	// as it has not seen it at rest; zero: it has, or it started the instance.
	AdoptedAt time.Time
}

// Verb is what to do next for a queue.
type Verb string

// The verbs.
const (
	VerbWait    Verb = "wait"    // until the sight changes, or At
	VerbMove    Verb = "move"    // the receipt goes to To because of Detail
	VerbDeliver Verb = "deliver" // attempt it
	VerbResolve Verb = "resolve" // an attempt was cut off: ask what came of it
	VerbWake    Verb = "wake"    // ask for the session to be woken for it
)

// Action is the next thing to do for a queue.
type Action struct {
	Verb     Verb
	ID       string
	To       State
	Detail   string // of a move; of a wait: why the first prompt waits
	Evidence string
	At       time.Time // when to look again if it cannot be done, or is a wait; zero: when the sight changes
}

// The reasons that the rules give.
const (
	reasonExpired      = "its time was over"
	reasonEnded        = "its instance ended"
	reasonConversation = "its instance ended, and the next one did not resume its conversation"
	reasonInterrupted  = "the delivery was cut off, and the agent ended before its outcome was known"
	reasonTimedOut     = "the delivery did not finish in time, and whether the agent got the text could not be found out"
	reasonNoTurnEnd    = "the agent accepted it and stopped before the end of its turn was seen"
	reasonCommand      = "the agent accepted it, perhaps as a command of its own; no turn was seen to work on it"
	reasonTurnBound    = "the agent accepted it; no turn was seen to work on it"
	reasonTurn         = "the agent is busy: it waits for the end of the turn"
)

// Decide returns the next thing to do for the open receipts of one session.
// flight is the ID of the receipt that an attempt is under way for; nothing else
// is begun meanwhile. It is pure, and total: whatever it is given, no receipt
// stays open beyond its [Receipt.Limit] if what it says is done.
func Decide(open []*Receipt, s Observation, now time.Time, flight string) Action {
	ordered := slices.Clone(open)
	slices.SortFunc(ordered, Compare)
	d := decision{observation: s, now: now, inFlight: flight}
	for _, r := range ordered {
		if a := d.due(r); a.Verb != VerbWait {
			return a
		}
	}
	if flight == "" {
		if a := d.attempt(ordered); a.Verb != VerbWait {
			return a
		}
	}
	return Action{Verb: VerbWait, Detail: d.reason, At: d.at}
}

// decision collects, while it looks at receipts, when to look again.
type decision struct {
	observation     Observation
	now             time.Time
	inFlight        string
	at              time.Time
	reason          string
	hookReportUntil time.Time // until when the agent's hook may report the turn of a prompt that it accepted
}

// waitUntil says that at t something is due.
func (d *decision) waitUntil(t time.Time) Action {
	if d.at.IsZero() || t.Before(d.at) {
		d.at = t
	}
	return Action{Verb: VerbWait}
}

// due returns the move that is due for a receipt without touching the agent.
func (d *decision) due(r *Receipt) Action {
	switch r.State {
	case Accepted, Queued:
		return d.dueWaiting(r)
	case Injected:
		return d.dueInjected(r)
	case Submitted:
		return d.dueSubmitted(r)
	default:
		return Action{Verb: VerbWait}
	}
}

func move(r *Receipt, to State, detail string) Action {
	return Action{Verb: VerbMove, ID: r.ID, To: to, Detail: detail}
}

func (d *decision) dueWaiting(r *Receipt) Action {
	switch fate, why := r.eligibility(d.observation); {
	case !d.now.Before(r.ExpiresAt):
		return move(r, Expired, reasonExpired)
	case fate == undeliverable:
		return move(r, Dead, why)
	case r.State == Accepted:
		return move(r, Queued, "")
	}
	return d.waitUntil(r.ExpiresAt)
}

func (d *decision) dueInjected(r *Receipt) Action {
	s := d.observation
	switch {
	case r.ID == d.inFlight:
		return Action{Verb: VerbWait}
	case !d.now.Before(r.Limit(s)):
		return move(r, Unconfirmed, r.uncertainReason())
	case !s.Known:
		return d.waitUntil(r.Limit(s))
	case s.RemovedReason != "", s.NotRunning, s.Instance != "" && s.Instance != r.Instance:
		return move(r, Unconfirmed, reasonInterrupted)
	case s.Instance == "" || d.inFlight != "":
		return d.waitUntil(r.Limit(s))
	}
	d.waitUntil(r.Limit(s))
	return Action{Verb: VerbResolve, ID: r.ID, At: d.at}
}

// uncertainReason returns why it is unknown whether the agent got the text.
func (r *Receipt) uncertainReason() string {
	why := reasonTimedOut
	if !r.CancelAt.IsZero() {
		why = "cancelled by its sender during its delivery; whether the agent got the text could not be found out"
	}
	if r.Reason != "" && r.Reason != Delivering {
		why += ": " + r.Reason
	}
	return why
}

func (d *decision) dueSubmitted(r *Receipt) Action {
	evidence, again := r.consumed(d.observation, d.now)
	switch {
	case evidence != "" && r.mayBeCommand(d.observation): // an agent at rest is no sign of a turn
		return move(r, Submitted, reasonCommand)
	case evidence != "":
		return Action{Verb: VerbMove, ID: r.ID, To: Consumed, Evidence: evidence, Detail: r.Reason}
	}
	s := d.observation
	ended := s.Known && (s.RemovedReason != "" || s.NotRunning || s.Instance != "" && s.Instance != r.Instance)
	switch {
	case ended:
		return move(r, Submitted, reasonNoTurnEnd)
	case !d.now.Before(r.Limit(s)) && strings.Contains(r.Evidence, SignHook): // its turn was reported, and goes on
		return Action{Verb: VerbMove, ID: r.ID, To: Consumed, Evidence: r.Evidence, Detail: r.Reason}
	case !d.now.Before(r.Limit(s)):
		return move(r, Submitted, reasonTurnBound)
	}
	if !again.IsZero() {
		d.waitUntil(again)
	}
	return d.waitUntil(r.Limit(s))
}

// attempt returns the attempt that may be made now: of the first prompt that the
// instance may have.
func (d *decision) attempt(ordered []*Receipt) Action {
	s := d.observation
	for _, r := range ordered {
		if r.State == Injected { // its outcome comes first: order
			d.reason = "it is not known yet what came of the prompt before it"
			return Action{Verb: VerbWait}
		}
		if r.State == Submitted {
			d.hookReportUntil = later(d.hookReportUntil, r.hookReportDeadline(s))
		}
		if r.State != Queued {
			continue
		}
		if s.HeldReason != "" {
			d.reason = s.HeldReason
			return Action{Verb: VerbWait}
		}
		fate, why := r.eligibility(s)
		if s.Known && s.Asleep && r.canWake(s) {
			return Action{Verb: VerbWake, ID: r.ID, Detail: "the agent rests and is to be started", At: d.at}
		}
		if fate != deliverable {
			if d.reason == "" {
				d.reason = why
			}
			continue
		}
		return d.deliver(r)
	}
	return Action{Verb: VerbWait}
}

// deliver returns the attempt at the prompt whose turn it is, or why it waits.
func (d *decision) deliver(r *Receipt) Action {
	s := d.observation
	if s.ClosedReason != "" {
		d.reason = s.ClosedReason
		return Action{Verb: VerbWait}
	}
	if probe := s.probeDeadline(); d.now.Before(probe) {
		d.reason = "the next prompt is tried at " + probe.Format(time.RFC3339) + ": " + s.Obstacle
		return d.waitUntil(probe)
	}
	if rest := later(r.turnEndDeadline(s), r.hookTurnDeadline(s)); d.now.Before(rest) {
		d.reason = reasonTurn
		return d.waitUntil(rest)
	}
	if fresh := r.freshEvidenceDeadline(s); d.now.Before(fresh) {
		d.reason = "the controller has just started: it waits until it knows what the agent is doing"
		return d.waitUntil(fresh)
	}
	if d.now.Before(s.FirstPromptUntil) {
		d.reason = "the agent begins with the prompt of its command line"
		return d.waitUntil(s.FirstPromptUntil)
	}
	if edge := later(r.turnEdgeDeadline(s, d.now), d.hookReportUntil); d.now.Before(edge) {
		d.reason = "it waits to see whether the prompt before it began a turn"
		return d.waitUntil(edge)
	}
	from := r.NextAt
	if !s.ChangedAt.IsZero() && s.ChangedAt.Before(from) {
		from = s.ChangedAt
	}
	if d.now.Before(from) {
		d.reason = r.Reason
		return d.waitUntil(from)
	}
	return Action{Verb: VerbDeliver, ID: r.ID, At: d.at}
}

// probeReportWait is how long the controller has to learn that a prompt was tried, and to set when
// the next one is.
const probeReportWait = time.Minute

// probeDeadline returns until when prompts wait because of an obstacle; zero: they do not. After one
// was tried the next waits for what the controller makes of it.
func (s Observation) probeDeadline() time.Time {
	switch {
	case s.Obstacle == "":
		return time.Time{}
	case !s.AcceptedAt.Before(s.ProbeAt):
		return s.AcceptedAt.Add(probeReportWait)
	}
	return s.ProbeAt
}

// eligibility is what the present instance means for a prompt that waits.
type eligibility int

const (
	onHold        eligibility = iota // for later
	deliverable                      // for this one
	undeliverable                    // for one that is no more
)

// eligibility reports whether the prompt is for the instance that runs. Why says what it
// waits for, or why it is lost.
func (r *Receipt) eligibility(s Observation) (eligibility, string) {
	switch {
	case !s.Known:
		return onHold, s.ClosedReason
	case s.RemovedReason != "":
		return undeliverable, s.RemovedReason
	case s.NotRunning && r.canOutliveInstance():
		return onHold, "it waits for the agent to run"
	case s.NotRunning:
		return undeliverable, reasonEnded
	case s.Instance == "":
		return onHold, s.ClosedReason
	case r.Instance == "", r.Successor, r.Instance == s.Instance:
		return deliverable, ""
	case r.Conversation == "":
		return undeliverable, reasonEnded
	case s.Conversation == "":
		return onHold, "it waits to see whether the agent resumed its conversation"
	case s.Conversation != r.Conversation:
		return undeliverable, reasonConversation
	}
	return deliverable, ""
}

// canOutliveInstance reports whether a later instance may have the prompt.
func (r *Receipt) canOutliveInstance() bool {
	return r.Instance == "" || r.Successor || r.Conversation != ""
}

// canWake reports whether the prompt is a reason to wake the session.
func (r *Receipt) canWake(s Observation) bool {
	if !s.AsleepAt.IsZero() && !r.CreatedAt.After(s.AsleepAt) {
		return false
	}
	return r.Instance == "" || r.Successor || r.Conversation != "" && r.Conversation == s.Conversation
}

// idleConfirmation is how long an agent must be seen to rest before that counts: it may be
// about to show that it began.
const idleConfirmation = 500 * time.Millisecond

// hookReportWait is how long the hook of an agent that has them has to name a prompt, before
// what was seen of it from outside counts alone.
const hookReportWait = 3 * time.Second

// workerIdleConfirmation is resting for an agent whose worker has taken the prompt.
const workerIdleConfirmation = 5 * time.Second

// The signs of evidence that are an agent's own word: its worker has taken the prompt,
// and a turn has worked on it.
const (
	SignWorker = "worker"
	SignWorked = "consumed"
)

// signCommand is in the evidence of a prompt that its program may have taken for a command
// of its own.
const signCommand = "command"

// mayBeCommand reports whether the program may have taken the prompt for a command of its
// own. Its own word that a turn began takes the place of that evidence, and so does a turn
// that was seen to begin, unless its hooks would have reported one.
func (r *Receipt) mayBeCommand(s Observation) bool {
	signs := strings.Split(r.Evidence, "+")
	return !r.isConfirmedByAgent() && slices.Contains(signs, signCommand) && (r.hasHookReports(s) || !slices.ContainsFunc(signs, isEdge))
}

// hasHookReports reports whether hooks report the prompts of the agent that accepted this
// one.
func (r *Receipt) hasHookReports(s Observation) bool {
	return s.ReportsTurns && s.Instance == r.Instance
}

// hookReportDeadline returns until when a hook may yet report that the submitted prompt began a
// turn: until then the agent is no more at rest than it was. Zero: none will.
func (r *Receipt) hookReportDeadline(s Observation) time.Time {
	if !r.hasHookReports(s) || r.isConfirmedByAgent() || r.mayBeCommand(s) {
		return time.Time{}
	}
	return r.enteredAt(Submitted).Add(hookReportWait)
}

// isEdge reports whether a sign is that of a turn which began with the submission.
func isEdge(sign string) bool { return sign == "busy" || sign == "status" || sign == SignWorked }

// isConfirmedByAgent reports whether the agent's own side has spoken of the prompt.
func (r *Receipt) isConfirmedByAgent() bool {
	for sign := range strings.SplitSeq(r.Evidence, "+") {
		if sign == SignWorker || sign == SignWorked || sign == SignHook {
			return true
		}
	}
	return false
}

// consumed returns the evidence that a turn worked on the submitted prompt, empty
// if there is none yet. again is when to ask although nothing changes; zero:
// never.
//
// A turn that began with the submission is evidence from the driver, and so is the
// agent's own word, see [Receipt.MarkWorked]. Else it is a turn boundary: the agent is read
// after the submission, and rests. One that reports turns itself gets more time to
// report this one, unless it has reported its end since.
func (r *Receipt) consumed(s Observation, now time.Time) (evidence string, again time.Time) {
	if from := r.enteredAt(Submitted).Add(hookReportWait); r.hasHookReports(s) && !r.isConfirmedByAgent() && now.Before(from) {
		return "", from
	}
	if !r.mayBeCommand(s) && slices.ContainsFunc(strings.Split(r.Evidence, "+"), isEdge) {
		return r.Evidence, time.Time{}
	}
	submitted, rest := r.enteredAt(Submitted), idleConfirmation
	rests := s.Activity == runtime.ActivityIdle || s.Activity == runtime.ActivityReady || s.IsCertain && s.Activity == runtime.ActivityBackground
	if !s.Known || s.Instance != r.Instance || !rests || !s.ReadAt.After(submitted) {
		return "", time.Time{}
	}
	since := later(submitted, s.Since)
	if (r.Evidence == SignWorker || r.Evidence == SignHook || r.mayBeCommand(s)) && !s.Since.After(submitted) {
		rest = workerIdleConfirmation
	}
	if from := since.Add(rest); now.Before(from) {
		return "", from
	}
	return strings.TrimPrefix(r.Evidence+"+turn_boundary", "+"), time.Time{}
}
