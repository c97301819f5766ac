package prompt

import (
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// Sight is what is known of the session of a queue at one moment.
type Sight struct {
	// Known is false if nothing may be concluded from the rest: nothing is sent
	// and nothing is declared dead.
	Known bool
	// Gone says why the target is not in the city any more; empty: it is.
	Gone string
	// Instance is the public name of the instance that runs, Down says that none
	// does. Neither is between the two: it starts, or winds down.
	Instance string
	Down     bool
	Asleep   bool // it is down and a prompt may start it
	// AsleepAt is when it was put to sleep; zero: not known. What waited then goes on
	// waiting: who puts an agent to sleep has seen it.
	AsleepAt time.Time

	Conversation string // of the instance that runs, or of the last one
	Shut         string // why it takes no prompt now; empty: it may
	// Held says why it gets no new prompts although it may accept them: none is
	// delivered, and it is not started for one. What is on its way already ends as it
	// does.
	Held     string
	Attached int
	// Obstacle says what keeps the agent from working on prompts, such as a login that is
	// needed; empty: nothing does. One prompt is tried at ProbeAt.
	Obstacle string
	ProbeAt  time.Time

	Activity runtime.Activity
	Sure     bool      // the activity is more than a guess
	Since    time.Time // of the activity
	ReadAt   time.Time // when the activity was read
	TakenAt  time.Time // when the instance that runs last took a prompt; zero: not known
	Tells    bool      // a hook of the agent's names each prompt that begins a turn
	// TurnAt is when a hook reported the beginning of a turn without a reported end; zero:
	// none. It may be known sooner than the activity.
	TurnAt time.Time
	// OpensBy is until when the instance may begin with the prompt of its command line,
	// which its hook has not reported; zero: it does not.
	OpensBy   time.Time
	ChangedAt time.Time // attempts are worth while from then on, whatever NextAt says; zero: they are not

	// Progress is how long a delivery may go without progress; zero is DefaultProgress.
	Progress time.Duration
	// WatchedFrom is since when this controller can ask about deliveries of earlier ones.
	WatchedFrom time.Time
	// TookOver is when this controller took over an instance that ran before it, as long
	// as it has not seen it at rest; zero: it has, or it started the instance.
	TookOver time.Time
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
	reasonExpired   = "its time was over"
	reasonEnded     = "its instance ended"
	reasonTalk      = "its instance ended, and the next one did not resume its conversation"
	reasonCut       = "the delivery was cut off, and the agent ended before its outcome was known"
	reasonCutTime   = "the delivery did not finish in time, and whether the agent got the text could not be found out"
	reasonTurnless  = "the agent accepted it and stopped before the end of its turn was seen"
	reasonCommand   = "the agent accepted it, perhaps as a command of its own; no turn was seen to work on it"
	reasonTurnBound = "the agent accepted it; no turn was seen to work on it"
	reasonTurn      = "the agent is busy: it waits for the end of the turn"
)

// Decide returns the next thing to do for the open receipts of one session.
// flight is the ID of the receipt that an attempt is under way for; nothing else
// is begun meanwhile. It is pure, and total: whatever it is given, no receipt
// stays open beyond its [Receipt.Limit] if what it says is done.
func Decide(open []*Receipt, s Sight, now time.Time, flight string) Action {
	ordered := slices.Clone(open)
	slices.SortFunc(ordered, Compare)
	d := decision{sight: s, now: now, flight: flight}
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
	return Action{Verb: VerbWait, Detail: d.why, At: d.at}
}

// decision collects, while it looks at receipts, when to look again.
type decision struct {
	sight  Sight
	now    time.Time
	flight string
	at     time.Time
	why    string
	untold time.Time // until when the agent's hook may report the turn of a prompt that it accepted
}

// wait says that at t something is due.
func (d *decision) wait(t time.Time) Action {
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
	switch fate, why := r.fate(d.sight); {
	case !d.now.Before(r.ExpiresAt):
		return move(r, Expired, reasonExpired)
	case fate == lost:
		return move(r, Dead, why)
	case r.State == Accepted:
		return move(r, Queued, "")
	}
	return d.wait(r.ExpiresAt)
}

func (d *decision) dueInjected(r *Receipt) Action {
	s := d.sight
	switch {
	case r.ID == d.flight:
		return Action{Verb: VerbWait}
	case !d.now.Before(r.Limit(s)):
		return move(r, Unconfirmed, r.undecided())
	case !s.Known:
		return d.wait(r.Limit(s))
	case s.Gone != "", s.Down, s.Instance != "" && s.Instance != r.Instance:
		return move(r, Unconfirmed, reasonCut)
	case s.Instance == "" || d.flight != "":
		return d.wait(r.Limit(s))
	}
	d.wait(r.Limit(s))
	return Action{Verb: VerbResolve, ID: r.ID, At: d.at}
}

// undecided returns why it is unknown whether the agent got the text.
func (r *Receipt) undecided() string {
	why := reasonCutTime
	if !r.CancelAt.IsZero() {
		why = "cancelled by its sender during its delivery; whether the agent got the text could not be found out"
	}
	if r.Reason != "" && r.Reason != Delivering {
		why += ": " + r.Reason
	}
	return why
}

func (d *decision) dueSubmitted(r *Receipt) Action {
	evidence, again := r.consumed(d.sight, d.now)
	switch {
	case evidence != "" && r.maybeCommand(d.sight): // an agent at rest is no sign of a turn
		return move(r, Submitted, reasonCommand)
	case evidence != "":
		return Action{Verb: VerbMove, ID: r.ID, To: Consumed, Evidence: evidence, Detail: r.Reason}
	}
	s := d.sight
	ended := s.Known && (s.Gone != "" || s.Down || s.Instance != "" && s.Instance != r.Instance)
	switch {
	case ended:
		return move(r, Submitted, reasonTurnless)
	case !d.now.Before(r.Limit(s)) && strings.Contains(r.Evidence, SignHook): // its turn was reported, and goes on
		return Action{Verb: VerbMove, ID: r.ID, To: Consumed, Evidence: r.Evidence, Detail: r.Reason}
	case !d.now.Before(r.Limit(s)):
		return move(r, Submitted, reasonTurnBound)
	}
	if !again.IsZero() {
		d.wait(again)
	}
	return d.wait(r.Limit(s))
}

// attempt returns the attempt that may be made now: of the first prompt that the
// instance may have.
func (d *decision) attempt(ordered []*Receipt) Action {
	s := d.sight
	for _, r := range ordered {
		if r.State == Injected { // its outcome comes first: order
			d.why = "it is not known yet what came of the prompt before it"
			return Action{Verb: VerbWait}
		}
		if r.State == Submitted {
			d.untold = later(d.untold, r.toldBy(s))
		}
		if r.State != Queued {
			continue
		}
		if s.Held != "" {
			d.why = s.Held
			return Action{Verb: VerbWait}
		}
		fate, why := r.fate(s)
		if s.Known && s.Asleep && r.wakes(s) {
			return Action{Verb: VerbWake, ID: r.ID, Detail: "the agent rests and is to be started", At: d.at}
		}
		if fate != deliverable {
			if d.why == "" {
				d.why = why
			}
			continue
		}
		return d.deliver(r)
	}
	return Action{Verb: VerbWait}
}

// deliver returns the attempt at the prompt whose turn it is, or why it waits.
func (d *decision) deliver(r *Receipt) Action {
	s := d.sight
	if s.Shut != "" {
		d.why = s.Shut
		return Action{Verb: VerbWait}
	}
	if probe := s.probe(); d.now.Before(probe) {
		d.why = "the next prompt is tried at " + probe.Format(time.RFC3339) + ": " + s.Obstacle
		return d.wait(probe)
	}
	if rest := later(r.rest(s), r.turn(s)); d.now.Before(rest) {
		d.why = reasonTurn
		return d.wait(rest)
	}
	if fresh := r.fresh(s); d.now.Before(fresh) {
		d.why = "the controller has just started: it waits until it knows what the agent is doing"
		return d.wait(fresh)
	}
	if d.now.Before(s.OpensBy) {
		d.why = "the agent begins with the prompt of its command line"
		return d.wait(s.OpensBy)
	}
	if edge := later(r.edge(s, d.now), d.untold); d.now.Before(edge) {
		d.why = "it waits to see whether the prompt before it began a turn"
		return d.wait(edge)
	}
	from := r.NextAt
	if !s.ChangedAt.IsZero() && s.ChangedAt.Before(from) {
		from = s.ChangedAt
	}
	if d.now.Before(from) {
		d.why = r.Reason
		return d.wait(from)
	}
	return Action{Verb: VerbDeliver, ID: r.ID, At: d.at}
}

// probeTold is how long the controller has to learn that a prompt was tried, and to set when
// the next one is.
const probeTold = time.Minute

// probe returns until when prompts wait because of an obstacle; zero: they do not. After one
// was tried the next waits for what the controller makes of it.
func (s Sight) probe() time.Time {
	switch {
	case s.Obstacle == "":
		return time.Time{}
	case !s.TakenAt.Before(s.ProbeAt):
		return s.TakenAt.Add(probeTold)
	}
	return s.ProbeAt
}

// fate is what the present instance means for a prompt that waits.
type fate int

const (
	held        fate = iota // for later
	deliverable             // for this one
	lost                    // for one that is no more
)

// fate says whether the prompt is for the instance that runs. Why says what it
// waits for, or why it is lost.
func (r *Receipt) fate(s Sight) (fate, string) {
	switch {
	case !s.Known:
		return held, s.Shut
	case s.Gone != "":
		return lost, s.Gone
	case s.Down && r.outlives():
		return held, "it waits for the agent to run"
	case s.Down:
		return lost, reasonEnded
	case s.Instance == "":
		return held, s.Shut
	case r.Instance == "", r.Successor, r.Instance == s.Instance:
		return deliverable, ""
	case r.Conversation == "":
		return lost, reasonEnded
	case s.Conversation == "":
		return held, "it waits to see whether the agent resumed its conversation"
	case s.Conversation != r.Conversation:
		return lost, reasonTalk
	}
	return deliverable, ""
}

// outlives reports whether a later instance may have the prompt.
func (r *Receipt) outlives() bool { return r.Instance == "" || r.Successor || r.Conversation != "" }

// wakes reports whether the prompt is a reason to wake the session.
func (r *Receipt) wakes(s Sight) bool {
	if !s.AsleepAt.IsZero() && !r.CreatedAt.After(s.AsleepAt) {
		return false
	}
	return r.Instance == "" || r.Successor || r.Conversation != "" && r.Conversation == s.Conversation
}

// resting is how long an agent must be seen to rest before that counts: it may be
// about to show that it began.
const resting = 500 * time.Millisecond

// tellingWord is how long the hook of an agent that has them has to name a prompt, before
// what was seen of it from outside counts alone.
const tellingWord = 3 * time.Second

// tellingTurns is resting for an agent whose worker has taken the prompt.
const tellingTurns = 5 * time.Second

// The signs of evidence that are an agent's own word: its worker has taken the prompt,
// and a turn has worked on it.
const (
	SignWorker = "worker"
	SignWorked = "consumed"
)

// signCommand is in the evidence of a prompt that its program may have taken for a command
// of its own.
const signCommand = "command"

// maybeCommand reports whether the program may have taken the prompt for a command of its
// own. Its own word that a turn began takes the place of that evidence, and so does a turn
// that was seen to begin, unless its hooks would have reported one.
func (r *Receipt) maybeCommand(s Sight) bool {
	signs := strings.Split(r.Evidence, "+")
	return !r.spokenFor() && slices.Contains(signs, signCommand) && (r.told(s) || !slices.ContainsFunc(signs, isEdge))
}

// told reports whether hooks report the prompts of the agent that accepted this
// one.
func (r *Receipt) told(s Sight) bool { return s.Tells && s.Instance == r.Instance }

// toldBy returns until when a hook may yet report that the submitted prompt began a
// turn: until then the agent is no more at rest than it was. Zero: none will.
func (r *Receipt) toldBy(s Sight) time.Time {
	if !r.told(s) || r.spokenFor() || r.maybeCommand(s) {
		return time.Time{}
	}
	return r.at(Submitted).Add(tellingWord)
}

// isEdge reports whether a sign is that of a turn which began with the submission.
func isEdge(sign string) bool { return sign == "busy" || sign == "status" || sign == SignWorked }

// spokenFor reports whether the agent's own side has spoken of the prompt.
func (r *Receipt) spokenFor() bool {
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
// agent's own word, see [Receipt.Worked]. Else it is a turn boundary: the agent is read
// after the submission, and rests. One that reports turns itself gets more time to
// report this one, unless it has reported its end since.
func (r *Receipt) consumed(s Sight, now time.Time) (evidence string, again time.Time) {
	if from := r.at(Submitted).Add(tellingWord); r.told(s) && !r.spokenFor() && now.Before(from) {
		return "", from
	}
	if !r.maybeCommand(s) && slices.ContainsFunc(strings.Split(r.Evidence, "+"), isEdge) {
		return r.Evidence, time.Time{}
	}
	submitted, rest := r.at(Submitted), resting
	rests := s.Activity == runtime.ActivityIdle || s.Activity == runtime.ActivityReady || s.Sure && s.Activity == runtime.ActivityBackground
	if !s.Known || s.Instance != r.Instance || !rests || !s.ReadAt.After(submitted) {
		return "", time.Time{}
	}
	since := later(submitted, s.Since)
	if (r.Evidence == SignWorker || r.Evidence == SignHook || r.maybeCommand(s)) && !s.Since.After(submitted) {
		rest = tellingTurns
	}
	if from := since.Add(rest); now.Before(from) {
		return "", from
	}
	return strings.TrimPrefix(r.Evidence+"+turn_boundary", "+"), time.Time{}
}
