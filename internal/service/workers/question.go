package workers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/worker"
)

// question is a request that blocks the agent: a question of its worker, or a guard question about
// a tool call.
type question struct {
	worker.Interaction
	request   string        // the ID by which it is answered; it is unique to this run
	guard     bool          // a guard question; a worker can neither change nor resolve it
	duplicate bool          // the agent CLI asks the same in its terminal: see mergeDuplicatesLocked
	shown     bool          // duplicate only: the terminal has shown it
	ended     bool          // it was answered in the terminal, or the tool ran without an answer
	call      string        // guard only: the agent CLI's ID of the call
	dir       string        // guard only: the directory of the call; empty: unknown
	ran       bool          // guard only: the tool ran before it was allowed
	answer    *worker.Reply // nil until it is answered
	reply     string        // the ID of the message with the answer
}

const (
	// maxQuestions is the largest number of open questions of a run.
	maxQuestions = 64
	// maxAnswered is how many closed questions are remembered.
	maxAnswered = 256
)

// raiseLocked records a question that the worker asks. It replaces an open
// question with the same ID. If too many questions are open, the oldest that is not from the guard
// is closed. The caller holds mu.
func (a *liveRun) raiseLocked(q worker.Interaction) *question {
	q.RunID = a.id
	if at := a.askedLocked(q.ID); at >= 0 {
		a.asked[at].Interaction = q
		return a.asked[at]
	}
	for len(a.asked) >= maxQuestions {
		at := slices.IndexFunc(a.asked, func(q *question) bool { return !q.guard })
		if at < 0 {
			break
		}
		a.forgetQuestionLocked(a.asked[at])
	}
	asked := &question{Interaction: q, request: a.requestOf("question " + q.ID)}
	a.asked = append(a.asked, asked)
	return asked
}

// requestOf returns the ID by which a question of this run is answered. It is a hash of the
// instance and of text, which identifies the question, so it differs between runs.
func (a *liveRun) requestOf(text string) string {
	sum := sha256.Sum256([]byte(a.instance + " " + text))
	return hex.EncodeToString(sum[:12])
}

// askedLocked returns the index in a.asked of the worker's open question with this ID; -1 if there
// is none. The caller holds mu.
func (a *liveRun) askedLocked(id string) int {
	return slices.IndexFunc(a.asked, func(q *question) bool { return !q.guard && q.ID == id })
}

// resolveLocked closes a question of the worker and returns its request ID, or an empty string if
// it is not open. A late report with the same ID does not open it again.
func (a *liveRun) resolveLocked(id string) string {
	if !slices.Contains(a.answered, id) {
		a.answered = appendBounded(a.answered, id, maxAnswered)
	}
	at := a.askedLocked(id)
	if at < 0 {
		return ""
	}
	name := a.asked[at].request
	a.forgetQuestionLocked(a.asked[at])
	return name
}

// forgetQuestionLocked removes a question. If the worker has not finished with its answer, the
// answer is removed too. The caller holds mu.
func (a *liveRun) forgetQuestionLocked(q *question) {
	a.asked = slices.DeleteFunc(slices.Clone(a.asked), func(x *question) bool { return x == q })
	if q.reply != "" && a.mailbox.Find(q.reply) != nil && !a.mailbox.Find(q.reply).IsDone() {
		a.mailbox.Remove(q.reply)
	}
}

// dropQuestionsLocked removes every question of the worker, because the agent that asked has
// stopped.
func (a *liveRun) dropQuestionsLocked() {
	for _, q := range a.asked {
		if !q.guard {
			a.forgetQuestionLocked(q)
		}
	}
}

// openQuestionsLocked returns the open questions. It first closes the worker's questions whose
// deadlines have passed.
func (a *liveRun) openQuestionsLocked() []*question {
	now := a.engine.opts.Now()
	for _, q := range a.asked {
		if !q.guard && q.Deadline != nil && now.After(*q.Deadline) {
			a.resolveLocked(q.ID)
		}
	}
	return a.asked
}

// pending returns the first open question, or nil if there is none.
func (a *liveRun) pending() *runtime.PendingInteraction {
	a.mu.Lock()
	defer a.mu.Unlock()
	if open := a.openQuestionsLocked(); len(open) > 0 {
		return open[0].interaction()
	}
	return nil
}

// answer records a person's answer to an open question and sends it to the worker. It returns the
// question; nil if r is about no question of this run.
func (a *liveRun) answer(r runtime.InteractionResponse) (*question, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	open := a.openQuestionsLocked()
	at := slices.IndexFunc(open, func(q *question) bool { return q.request == r.RequestID || r.RequestID == "" })
	if at < 0 {
		return nil, nil //nolint:nilnil // not a question of this run
	}
	q := open[at]
	reply, err := q.replyTo(r)
	if err != nil {
		return nil, err
	}
	if q.answer != nil {
		return nil, runtime.ErrInteractionGone
	}
	if !q.guard {
		a.counter++
		id := "reply-" + q.request + "-" + strconv.Itoa(a.counter)
		if _, err := a.putLocked(worker.ReplyMessage, id, reply); err != nil {
			return nil, err
		}
		q.reply = id
	}
	q.answer = &reply
	a.changeLocked()
	return q, nil
}

// answerResult records the outcome of the answer to q. It returns nil if the worker accepted the
// answer. settled is true if the question is closed or the worker has acknowledged or refused the
// answer, and false if the time for that has passed. If the worker refused the answer, the question
// stays open and can be answered again. A question of the guard is closed by the guard.
func (a *liveRun) answerResult(q *question, settled bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.changeLocked()
	switch l := a.mailbox.Find(q.reply); {
	case !settled && !slices.Contains(a.asked, q): // it was closed just after the time
	case !settled:
		return errNotAccepted
	case l != nil && (l.State == worker.Refused || l.State == worker.Failed) && slices.Contains(a.asked, q):
		q.answer, q.reply = nil, ""
		return fmt.Errorf("%w: %s", errNoAnswer, l.Detail)
	case !q.guard:
		a.resolveLocked(q.ID)
	}
	return nil
}

// interaction returns the question as a runtime.PendingInteraction.
func (q *question) interaction() *runtime.PendingInteraction {
	p := &runtime.PendingInteraction{RequestID: q.request, Kind: q.Kind, Prompt: q.Text, Metadata: map[string]string{runtime.MetaSource: string(runtime.SourceWorker)}}
	if p.Kind == "" {
		p.Kind = runtime.WaitQuestion
	}
	for _, o := range q.Options {
		p.Options = append(p.Options, o.Label)
	}
	p.Metadata[runtime.MetaText] = "no"
	if q.FreeText || len(q.Options) == 0 {
		p.Metadata[runtime.MetaText] = "yes"
	}
	if q.Deadline != nil {
		p.Metadata[runtime.MetaUntil] = q.Deadline.Format(time.RFC3339Nano)
	}
	if q.Tool != "" {
		p.Metadata[runtime.MetaTool] = q.Tool
	}
	if len(q.Input) > 0 {
		p.Metadata[runtime.MetaInput] = string(q.Input)
	}
	if q.guard {
		p.Metadata[session.MetaGuard] = "yes"
	}
	if q.dir != "" {
		p.Metadata[session.MetaDir] = q.dir
	}
	return p
}

// replyTo returns the answer as a worker.Reply. If the question does not allow the answer, it
// returns a [*runtime.AnswerError].
func (q *question) replyTo(r runtime.InteractionResponse) (worker.Reply, error) {
	out := worker.Reply{RunID: q.RunID, Interaction: q.ID}
	refuse := func(why string) (worker.Reply, error) {
		return worker.Reply{}, &runtime.AnswerError{Action: r.Action, Text: r.Text, Why: why}
	}
	switch r.Action {
	case runtime.ActionChoose:
		o, ok := q.option(r.Text)
		if !ok {
			return refuse("the options are " + strings.Join(q.labels(), ", "))
		}
		out.Option = o.ID
	case runtime.ActionApprove, runtime.ActionDeny:
		kind := map[string]string{runtime.ActionApprove: "allow_once", runtime.ActionDeny: "deny"}[r.Action]
		at := slices.IndexFunc(q.Options, func(o worker.Option) bool { return o.Kind == kind })
		if at < 0 {
			return refuse("no option is known to do that once; choose one of " + strings.Join(q.labels(), ", "))
		}
		out.Option = q.Options[at].ID
	case runtime.ActionText:
		if !q.FreeText && len(q.Options) > 0 {
			return refuse("it accepts one of " + strings.Join(q.labels(), ", "))
		}
		out.Text = r.Text
	case runtime.ActionCancel:
	default:
		return refuse("there is no such action")
	}
	return out, nil
}

// labels returns the quoted labels of the options.
func (q *question) labels() []string {
	var labels []string
	for _, o := range q.Options {
		labels = append(labels, strconv.Quote(o.Label))
	}
	return labels
}

// option returns the option with a label, an ID, or a number from 1.
func (q *question) option(text string) (worker.Option, bool) {
	for _, of := range []func(worker.Option) string{
		func(o worker.Option) string { return o.Label }, func(o worker.Option) string { return o.ID },
	} {
		if at := slices.IndexFunc(q.Options, func(o worker.Option) bool { return strings.EqualFold(of(o), text) }); at >= 0 {
			return q.Options[at], true
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1], true
	}
	return worker.Option{}, false
}
