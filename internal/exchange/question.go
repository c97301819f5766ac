package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"gascity/runtime"
	"gascity/worker"
)

// question is something that holds the agent up: what its worker asks, or what the
// guard wants to know about a tool.
type question struct {
	worker.Interaction
	request string        // the name by which it is answered; it is one of this run alone
	guard   bool          // the guard asks; the answer is an option's kind
	answer  *worker.Reply // nil until it is answered
}

// maxQuestions bounds the questions that stand at once; the oldest go first.
const maxQuestions = 64

// raiseLocked notes a question. One that stands already is brought up to date.
func (a *active) raiseLocked(q worker.Interaction) *question {
	q.RunID = a.id
	if at := a.askedLocked(q.ID); at >= 0 {
		a.asked[at].Interaction = q
		return a.asked[at]
	}
	a.counter++
	sum := sha256.Sum256([]byte(a.instance + " question " + q.ID + " " + strconv.Itoa(a.counter)))
	asked := &question{Interaction: q, request: hex.EncodeToString(sum[:12])}
	a.asked = append(a.asked, asked)
	if len(a.asked) > maxQuestions {
		a.asked = slices.Delete(a.asked, 0, 1)
	}
	return asked
}

func (a *active) askedLocked(id string) int {
	return slices.IndexFunc(a.asked, func(q *question) bool { return q.ID == id })
}

// resolveLocked takes a question away, and returns its name; empty if there is none.
func (a *active) resolveLocked(id string) string {
	at := a.askedLocked(id)
	if at < 0 {
		return ""
	}
	name := a.asked[at].request
	a.asked = slices.Delete(a.asked, at, at+1)
	return name
}

// dropQuestionsLocked takes every question away that the worker has asked: the agent
// that asked is gone.
func (a *active) dropQuestionsLocked() {
	a.asked = slices.DeleteFunc(a.asked, func(q *question) bool { return !q.guard })
}

// interaction is a question in the terms of providers.
func (q *question) interaction() *runtime.PendingInteraction {
	p := &runtime.PendingInteraction{RequestID: q.request, Kind: q.Kind, Prompt: q.Text, Metadata: map[string]string{runtime.MetaSource: string(runtime.SourceWorker)}}
	if p.Kind == "" {
		p.Kind = runtime.WaitQuestion
	}
	for _, o := range q.Options {
		p.Options = append(p.Options, o.Label)
	}
	if q.Tool != "" {
		p.Metadata[runtime.MetaTool] = q.Tool
	}
	if len(q.Input) > 0 {
		p.Metadata[runtime.MetaInput] = string(q.Input)
	}
	return p
}

// reply is an answer in the terms of the worker. An answer that cannot be given is a
// [*runtime.AnswerError].
func (q *question) reply(r runtime.InteractionResponse) (worker.Reply, error) {
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
