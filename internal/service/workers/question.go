package workers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/runtime"
	"gascity/worker"
)

// question is something that holds the agent up: what its worker asks, or what the
// guard wants to know about a tool.
type question struct {
	worker.Interaction
	request   string        // the name by which it is answered; it is one of this run alone
	guard     bool          // the guard asks; a worker can neither change nor resolve it
	duplicate bool          // the agent CLI asks the same at its own place: see mergeDuplicatesLocked
	shown     bool          // it was seen to
	ended     bool          // it was answered there, or no caller waits for the answer any more
	call      string        // of the guard: the name that the agent CLI has for the call
	ran       bool          // of the guard: the tool ran before it was allowed
	answer    *worker.Reply // nil until it is answered
	reply     string        // the ID of the message with the answer
}

const (
	// maxQuestions bounds the questions that stand at once.
	maxQuestions = 64
	// maxAnswered bounds the questions that are remembered as over.
	maxAnswered = 256
)

// raiseLocked records what a worker asks. One that stands already is brought up to date.
// The oldest gives way if there are too many.
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

// requestOf returns the name of a question of this run.
func (a *liveRun) requestOf(text string) string {
	sum := sha256.Sum256([]byte(a.instance + " " + text))
	return hex.EncodeToString(sum[:12])
}

// askedLocked finds what the worker asks under an ID of its own.
func (a *liveRun) askedLocked(id string) int {
	return slices.IndexFunc(a.asked, func(q *question) bool { return !q.guard && q.ID == id })
}

// resolveLocked takes a question of the worker away, and returns its name. It is not
// raised again under its ID: reports may come late.
func (a *liveRun) resolveLocked(id string) string {
	if !slices.Contains(a.answered, id) {
		a.answered = remembered(a.answered, id, maxAnswered)
	}
	at := a.askedLocked(id)
	if at < 0 {
		return ""
	}
	name := a.asked[at].request
	a.forgetQuestionLocked(a.asked[at])
	return name
}

// forgetQuestionLocked takes a question away, with an answer that is on its way.
func (a *liveRun) forgetQuestionLocked(q *question) {
	a.asked = slices.DeleteFunc(slices.Clone(a.asked), func(x *question) bool { return x == q })
	if q.reply != "" && a.mailbox.Find(q.reply) != nil && !a.mailbox.Find(q.reply).IsDone() {
		a.mailbox.Remove(q.reply)
	}
}

// dropQuestionsLocked takes every question away that the worker has asked: the agent
// that asked is gone.
func (a *liveRun) dropQuestionsLocked() {
	for _, q := range a.asked {
		if !q.guard {
			a.forgetQuestionLocked(q)
		}
	}
}

// standingLocked returns the questions that an answer is waited for. After its deadline
// no caller waits.
func (a *liveRun) standingLocked() []*question {
	now := a.engine.opts.Now()
	for _, q := range a.asked {
		if !q.guard && q.Deadline != nil && now.After(*q.Deadline) {
			a.resolveLocked(q.ID)
		}
	}
	return a.asked
}

// pending returns the first question, nil if there is none.
func (a *liveRun) pending() *runtime.PendingInteraction {
	a.mu.Lock()
	defer a.mu.Unlock()
	if standing := a.standingLocked(); len(standing) > 0 {
		return standing[0].interaction()
	}
	return nil
}

// answer returns a question its answer, and returns it; nil if it is none of these.
func (a *liveRun) answer(r runtime.InteractionResponse) (*question, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	standing := a.standingLocked()
	at := slices.IndexFunc(standing, func(q *question) bool { return q.request == r.RequestID || r.RequestID == "" })
	if at < 0 {
		return nil, nil //nolint:nilnil // another's question
	}
	q := standing[at]
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

// answeredBy is what came of an answer. The worker may refuse it; then the question
// stands, and can be answered again.
func (a *liveRun) answeredBy(q *question, gone bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.changeLocked()
	switch l := a.mailbox.Find(q.reply); {
	case !gone && !slices.Contains(a.asked, q):
	case !gone:
		return errNotAccepted
	case l != nil && (l.State == worker.Refused || l.State == worker.Failed) && slices.Contains(a.asked, q):
		q.answer, q.reply = nil, ""
		return fmt.Errorf("%w: %s", errNoAnswer, l.Detail)
	case !q.guard:
		a.resolveLocked(q.ID)
	}
	return nil
}

// interaction returns a question in the terms of providers.
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
	return p
}

// replyTo returns an answer in the terms of the worker. An answer that cannot be given is a
// [*runtime.AnswerError].
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
			return refuse("it takes one of " + strings.Join(q.labels(), ", "))
		}
		out.Text = r.Text
	case runtime.ActionCancel:
	default:
		return refuse("there is no such action")
	}
	return out, nil
}

func (q *question) labels() []string {
	var labels []string
	for _, o := range q.Options {
		labels = append(labels, strconv.Quote(o.Label))
	}
	return labels
}

// option finds an option by its label, its id, or its number from 1.
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
