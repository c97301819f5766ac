package prompt

import (
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// Observation describes the session of a queue at one moment.
type Observation struct {
	// Known is false if the other fields must not be used. Then no prompt is sent and none becomes
	// dead.
	Known bool
	// RemovedReason states why the target is not in the city any more; empty: it is in the city.
	RemovedReason string
	// Instance is the public name of the running instance. NotRunning is true if none runs. If
	// both are unset, the session is starting or stopping.
	Instance   string
	NotRunning bool
	Asleep     bool // it does not run, and a prompt may start it
	// AsleepAt is when the session was put to sleep; zero: unknown. Prompts that were queued
	// before do not wake it.
	AsleepAt time.Time

	Conversation string // of the running instance, else of the last one
	ClosedReason string // why the agent accepts no prompt now; empty: it may accept one
	// HeldReason states why prompts are held although the agent may accept them. None is delivered
	// and none starts the session. A delivery in progress continues. Empty: prompts are not held.
	HeldReason string
	// Obstacle states what prevents the agent from working on prompts, such as a missing login;
	// empty: nothing does. One prompt is tried at ProbeAt.
	Obstacle string
	ProbeAt  time.Time

	Activity     runtime.Activity
	IsCertain    bool      // the activity has the confidence certain
	Since        time.Time // of the activity
	ReadAt       time.Time // when the activity was read
	AcceptedAt   time.Time // when the running instance last accepted a prompt; zero: unknown
	ReportsTurns bool      // a hook of the agent reports each prompt that begins a turn
	// TurnAt is when a hook reported the beginning of a turn whose end was not reported yet; zero:
	// there is none. The report may come before the activity shows the turn.
	TurnAt time.Time
	// FirstPromptUntil is how long to wait for the instance to begin the prompt of its command
	// line, which its hook has not reported yet; zero: do not wait.
	FirstPromptUntil time.Time
	ChangedAt        time.Time // when the session last changed: an attempt is allowed from then on even before NextAt; zero: NextAt applies

	// Progress is how long a delivery may make no progress; zero is DefaultProgress.
	Progress time.Duration
	// WatchedFrom is when this controller became able to ask about deliveries that an earlier
	// controller began.
	WatchedFrom time.Time
	// AdoptedAt is when this controller adopted an instance of an earlier controller. It is zero
	// if this controller started the instance or has observed it idle since.
	AdoptedAt time.Time
}

// Verb is the next action for a queue.
type Verb string

// The verbs.
const (
	VerbWait    Verb = "wait"    // until the observation changes, or until At
	VerbMove    Verb = "move"    // change the state of the receipt to To; the reason is Detail
	VerbDeliver Verb = "deliver" // attempt to deliver the prompt
	VerbResolve Verb = "resolve" // an attempt was interrupted: ask the driver for its outcome
	VerbWake    Verb = "wake"    // ask to start the sleeping session for the prompt
)

// Action is the next action for a queue.
type Action struct {
	Verb     Verb
	ID       string
	To       State
	Detail   string // reason of a move; for a wait: why the first prompt waits
	Evidence string
	At       time.Time // when to decide again after a wait or a failed action; zero: when the observation changes
}

// The reasons in receipts.
const (
	reasonExpired      = "it expired before it could be delivered"
	reasonEnded        = "its instance ended"
	reasonConversation = "its instance stopped, and the next one did not resume the conversation"
	reasonInterrupted  = "the delivery was interrupted, and the agent stopped before the result was known"
	reasonTimedOut     = "the delivery did not finish in time, and whether the agent got the text could not be found out"
	reasonNoTurnEnd    = "the agent accepted it and stopped before the end of its turn was seen"
	reasonCommand      = "the agent accepted it, perhaps as a command of its own; no turn was seen to work on it"
	reasonTurnBound    = "the agent accepted it; no turn was seen to work on it"
	reasonTurn         = "the agent is busy: it waits for the end of the turn"
)

// Decide returns the next action for the open receipts of one session. flight is the ID of the
// receipt whose delivery attempt is in progress, empty if there is none; no other attempt begins
// meanwhile. Decide is pure and accepts any input. If its actions are carried out, no receipt
// stays open beyond its [Receipt.Limit].
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

// decision is the state of one call of [Decide]. It collects the time of the next decision.
type decision struct {
	observation     Observation
	now             time.Time
	inFlight        string
	at              time.Time
	reason          string
	hookReportUntil time.Time // how long the agent's hook may take to report the turn of an accepted prompt
}

// waitUntil returns a wait and sets d.at to t if t is earlier.
func (d *decision) waitUntil(t time.Time) Action {
	if d.at.IsZero() || t.Before(d.at) {
		d.at = t
	}
	return Action{Verb: VerbWait}
}

// due returns the action for a receipt apart from a new delivery attempt: a change of its state,
// such as expired, or a wait.
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

// move returns a change of the receipt to the state to.
func move(r *Receipt, to State, detail string) Action {
	return Action{Verb: VerbMove, ID: r.ID, To: to, Detail: detail}
}

// dueWaiting returns the action for a receipt that is accepted or queued: it expires, becomes dead
// because its instance has stopped, enters the queue, or waits.
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

// dueInjected returns the action for a receipt whose delivery has begun: it waits for the result.
// If the result cannot be known any more, the receipt becomes unconfirmed.
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

// uncertainReason returns the reason of an unconfirmed receipt: why it is unknown whether the agent
// got the text.
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

// dueSubmitted returns the action for a receipt whose prompt the agent has accepted: it becomes
// consumed when there is evidence that a turn worked on it, or is closed when no such evidence can
// be expected any more.
func (d *decision) dueSubmitted(r *Receipt) Action {
	evidence, again := r.consumed(d.observation, d.now)
	switch {
	case evidence != "" && r.mayBeCommand(d.observation): // an idle agent does not prove that a turn took place
		return move(r, Submitted, reasonCommand)
	case evidence != "":
		return Action{Verb: VerbMove, ID: r.ID, To: Consumed, Evidence: evidence, Detail: r.Reason}
	}
	s := d.observation
	ended := s.Known && (s.RemovedReason != "" || s.NotRunning || s.Instance != "" && s.Instance != r.Instance)
	switch {
	case ended:
		return move(r, Submitted, reasonNoTurnEnd)
	case !d.now.Before(r.Limit(s)) && strings.Contains(r.Evidence, SignHook): // its turn was reported and has not ended
		return Action{Verb: VerbMove, ID: r.ID, To: Consumed, Evidence: r.Evidence, Detail: r.Reason}
	case !d.now.Before(r.Limit(s)):
		return move(r, Submitted, reasonTurnBound)
	}
	if !again.IsZero() {
		d.waitUntil(again)
	}
	return d.waitUntil(r.Limit(s))
}

// attempt returns the delivery attempt that may begin now, or a wait. It is for the first queued
// prompt, in the order of delivery, that the running instance may get.
func (d *decision) attempt(ordered []*Receipt) Action {
	s := d.observation
	for _, r := range ordered {
		if r.State == Injected { // prompts stay in order: wait for the outcome of this one
			d.reason = "it waits for the result of the previous prompt"
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
			return Action{Verb: VerbWake, ID: r.ID, Detail: "the agent is asleep and is started for this prompt", At: d.at}
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

// deliver returns the delivery of the prompt, or a wait whose reason is in d.reason, for example
// because the agent is busy.
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
		d.reason = "the agent has not begun to work on the prompt of its command line yet"
		return d.waitUntil(s.FirstPromptUntil)
	}
	if edge := later(r.turnEdgeDeadline(s, d.now), d.hookReportUntil); d.now.Before(edge) {
		d.reason = "it waits until it is known whether the previous prompt began a turn"
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

// probeReportWait is how long the controller may take to notice that a prompt was tried and to
// schedule the next one.
const probeReportWait = time.Minute

// probeDeadline returns the time until which prompts wait because an obstacle, such as a missing
// login, prevents the agent from working; zero: they do not wait. At that time one prompt is tried.
// The next one waits until the controller has handled the result of the first, at most
// [probeReportWait].
func (s Observation) probeDeadline() time.Time {
	switch {
	case s.Obstacle == "":
		return time.Time{}
	case !s.AcceptedAt.Before(s.ProbeAt):
		return s.AcceptedAt.Add(probeReportWait)
	}
	return s.ProbeAt
}

// eligibility states whether a queued prompt may go to the current instance.
type eligibility int

const (
	onHold        eligibility = iota // not now, perhaps later
	deliverable                      // to the current instance
	undeliverable                    // never: its instance has stopped
)

// eligibility returns whether the prompt may go to the running instance. The second result states
// why it waits or why it is undeliverable.
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

// canOutliveInstance reports whether a later instance may get the prompt.
func (r *Receipt) canOutliveInstance() bool {
	return r.Instance == "" || r.Successor || r.Conversation != ""
}

// canWake reports whether the prompt may start the sleeping session.
func (r *Receipt) canWake(s Observation) bool {
	if !s.AsleepAt.IsZero() && !r.CreatedAt.After(s.AsleepAt) {
		return false
	}
	return r.Instance == "" || r.Successor || r.Conversation != "" && r.Conversation == s.Conversation
}

// idleConfirmation is how long an agent must be observed idle before that counts. A shorter idle
// time may mean that it is just about to begin a turn.
const idleConfirmation = 500 * time.Millisecond

// hookReportWait is how long to wait for a hook to report a prompt. After that, observations from
// outside count.
const hookReportWait = 3 * time.Second

// workerIdleConfirmation replaces idleConfirmation if the agent's worker or hook reported the
// prompt.
const workerIdleConfirmation = 5 * time.Second

// The signs of evidence that the agent's worker reports: it accepted the prompt, and a turn worked
// on the prompt.
const (
	SignWorker = "worker"
	SignWorked = "consumed"
)

// signCommand is part of the evidence if the agent CLI may have handled the prompt as one of its
// own commands.
const signCommand = "command"

// mayBeCommand reports whether the agent CLI may have handled the prompt as one of its own
// commands. A report from the agent rules this out. An observed beginning of a turn rules it out
// too, unless the agent's hooks would have reported that turn.
func (r *Receipt) mayBeCommand(s Observation) bool {
	signs := strings.Split(r.Evidence, "+")
	return !r.isConfirmedByAgent() && slices.Contains(signs, signCommand) && (r.hasHookReports(s) || !slices.ContainsFunc(signs, isTurnStartSign))
}

// hasHookReports reports whether hooks report the turns of the instance that accepted the prompt.
func (r *Receipt) hasHookReports(s Observation) bool {
	return s.ReportsTurns && s.Instance == r.Instance
}

// hookReportDeadline returns the time until which gc waits for a hook to report that the submitted
// prompt began a turn; until then the agent does not count as idle. Zero: no report is expected.
func (r *Receipt) hookReportDeadline(s Observation) time.Time {
	if !r.hasHookReports(s) || r.isConfirmedByAgent() || r.mayBeCommand(s) {
		return time.Time{}
	}
	return r.enteredAt(Submitted).Add(hookReportWait)
}

// isTurnStartSign reports whether a sign proves that a turn began with the submission.
func isTurnStartSign(sign string) bool {
	return sign == "busy" || sign == "status" || sign == SignWorked
}

// isConfirmedByAgent reports whether the agent's worker or hook has reported the prompt.
func (r *Receipt) isConfirmedByAgent() bool {
	for sign := range strings.SplitSeq(r.Evidence, "+") {
		if sign == SignWorker || sign == SignWorked || sign == SignHook {
			return true
		}
	}
	return false
}

// consumed returns the evidence that a turn worked on the submitted prompt; empty if there is none
// yet. again is when to check again even if nothing changes; zero: never.
//
// There are three kinds of evidence: the driver observed that a turn began with the submission; the
// agent reported it, see [Receipt.MarkWorked]; or the agent was observed idle after the submission,
// so the turn has ended. If the agent has hooks, gc first waits [hookReportWait] for their report.
func (r *Receipt) consumed(s Observation, now time.Time) (evidence string, again time.Time) {
	if from := r.enteredAt(Submitted).Add(hookReportWait); r.hasHookReports(s) && !r.isConfirmedByAgent() && now.Before(from) {
		return "", from
	}
	if !r.mayBeCommand(s) && slices.ContainsFunc(strings.Split(r.Evidence, "+"), isTurnStartSign) {
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
