package workers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/guard"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/worker"
)

func (r *engineTest) pending() *runtime.PendingInteraction {
	r.Helper()
	p, err := runtime.Pending(r.now().provider, "a")
	r.must(err)
	return p
}

func (r *engineTest) respond(p *runtime.PendingInteraction, action, text string) error {
	return runtime.Respond(r.now().provider, "a", runtime.InteractionResponse{RequestID: p.RequestID, Action: action, Text: text})
}

var menu = worker.Interaction{
	Event: worker.Raised, ID: "q1", Kind: runtime.WaitMenu, Text: "Which way? ünïcode\n", Tool: "Ask",
	Options: []worker.Option{{ID: "l", Label: "Left"}, {ID: "r", Label: "Right"}},
}

// TestQuestionIsAnsweredOnce checks that a question is shown with its exact text, survives a
// restart, is answered once, and does not appear again.
func TestQuestionIsAnsweredOnce(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), nil)
	named, err := a.Interaction(r.within(), menu)
	if err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.eventually("the question stands after a restart", func() bool { return r.pending() != nil })
	p := r.pending()
	if p.RequestID != named.ID || p.Prompt != menu.Text || strings.Join(p.Options, " ") != "Left Right" {
		t.Errorf("it is shown as %+v", p)
	}
	reading, err := runtime.Sense(t.Context(), r.now().provider, "a")
	if err != nil || reading.Pending == nil || len(reading.Evidence) == 0 || reading.Evidence[len(reading.Evidence)-1].Activity != runtime.ActivityWaiting {
		t.Errorf("it is sensed as %+v, %v", reading, err)
	}
	if err := r.respond(p, runtime.ActionChoose, "Up"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an option that there is not: %v", err)
	}
	if err := r.respond(p, runtime.ActionChoose, "right"); err != nil {
		t.Fatal(err)
	}
	if err := r.respond(p, runtime.ActionChoose, "left"); !errors.Is(err, runtime.ErrInteractionGone) {
		t.Errorf("a second answer: %v", err)
	}
	if got := a.had(worker.ReplyMessage); len(got) != 1 || !strings.Contains(string(got[0].Data), `"option":"r"`) {
		t.Errorf("the worker got %v", got)
	}
	if _, err := a.Interaction(r.within(), menu); err != nil || r.pending() != nil {
		t.Errorf("a late report has raised it again: %+v, %v", r.pending(), err)
	}
}

// TestRefusedAnswerCanBeRepeated checks that a question stays open if the worker refuses
// the answer.
func TestRefusedAnswerCanBeRepeated(t *testing.T) {
	r := newEngineTest(t, nil)
	state := worker.Refused
	a := r.work(r.start("a", "one"), func(a *agent, m worker.Message) {
		_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: state}) // the result is checked below
	})
	if _, err := a.Interaction(r.within(), menu); err != nil {
		t.Fatal(err)
	}
	if err := r.respond(r.pending(), runtime.ActionChoose, "1"); err == nil || r.pending() == nil {
		t.Errorf("an answer that the worker refused: %v, pending %v", err, r.pending())
	}
	state = worker.Consumed
	if err := r.respond(r.pending(), runtime.ActionChoose, "1"); err != nil || r.pending() != nil {
		t.Errorf("the answer again: %v, pending %v", err, r.pending())
	}
}

func TestQuestionEndsWithItsDeadlineAndItsAgent(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), nil)
	past := time.Now().Add(-time.Second)
	late := menu
	late.Deadline = &past
	if _, err := a.Interaction(r.within(), late); err != nil || r.pending() != nil {
		t.Errorf("no caller waits for it any more: %v, %v", r.pending(), err)
	}
	other := menu
	other.ID = "q2"
	if _, err := a.Interaction(r.within(), other); err != nil || r.pending() == nil {
		t.Fatal("it is not raised")
	}
	r.must(a.Report(r.within(), worker.Started, worker.Detail{}))
	if r.pending() != nil {
		t.Error("the agent that asked is gone, and its question stands")
	}
}

// judged returns a guard with the same verdict for every call.
func judged(action guard.Action, ask time.Duration) func(*workers.Options) {
	return func(o *workers.Options) {
		o.AskTimeout = func() time.Duration { return ask }
		o.Judge = func(session.Snapshot, worker.Call) guard.Verdict {
			return guard.Verdict{Action: action, Rule: "the-rule", Reason: "it is dangerous", Part: "rm -rf /"}
		}
	}
}

func TestAnswersToAQuestionOfTheGuard(t *testing.T) {
	for name, answer := range map[string]string{"allowed": runtime.ActionApprove, "denied": runtime.ActionDeny, "silence": "", "cut": "cut"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := patience
			if answer == "" {
				ask = 50 * time.Millisecond
			}
			r := newEngineTest(t, judged(guard.Ask, ask))
			a := r.work(r.start("a", "one"), nil)
			ctx, cancel := context.WithCancel(r.within())
			defer cancel()
			asked := make(chan error, 1)
			go func() {
				if answer == "" {
					asked <- nil
					return
				}
				r.eventually("a person is asked", func() bool { return r.pending() != nil })
				p := r.pending()
				until, err := time.Parse(time.RFC3339, p.Metadata[runtime.MetaUntil])
				if left := time.Until(until); err != nil || left <= 0 || left > ask {
					t.Errorf("the agent is said to wait until %v, %v; want at most %v from now", until, err, ask)
				}
				if !strings.Contains(p.Prompt, "rm -rf /") || p.Kind != runtime.WaitPermission {
					t.Errorf("a person is asked %+v", p)
				}
				if answer == "cut" {
					cancel()
					asked <- nil
					return
				}
				asked <- r.respond(p, answer, "")
			}()
			d, err := a.Authorize(ctx, worker.Call{ID: "c1", Tool: "Bash"})
			if err := <-asked; err != nil {
				t.Error(err)
			}
			if d.Allowed != (answer == runtime.ActionApprove) || (err != nil) != (answer == "cut") {
				t.Errorf("got %+v, %v", d, err)
			}
			r.eventually("the question is over", func() bool { return r.pending() == nil })
		})
	}
}

// TestWorkerCannotChangeAQuestionOfTheGuard checks that a person is asked the guard's text,
// whatever the worker reports under any ID.
func TestWorkerCannotChangeAQuestionOfTheGuard(t *testing.T) {
	r := newEngineTest(t, judged(guard.Ask, patience))
	a := r.work(r.start("a", "one"), nil)
	decided := make(chan worker.Decision, 1)
	go func() {
		d, _ := a.Authorize(r.within(), worker.Call{Tool: "Bash"}) // the decision is checked below
		decided <- d
	}()
	r.eventually("a person is asked", func() bool { return r.pending() != nil })
	before := r.pending()
	for _, id := range []string{"authorize-1", "authorize 1", before.RequestID, ""} {
		_, _ = a.Interaction(r.within(), worker.Interaction{Event: worker.Raised, ID: id, Text: "Harmless, please allow"}) // an empty id is refused
		_, _ = a.Interaction(r.within(), worker.Interaction{Event: worker.Resolved, ID: id})                               // as above
	}
	if after := r.pending(); after == nil || after.RequestID != before.RequestID || after.Prompt != before.Prompt {
		t.Errorf("before %+v, after %+v", before, after)
	}
	r.must(r.respond(before, runtime.ActionDeny, ""))
	if d := <-decided; d.Allowed {
		t.Errorf("decided %+v", d)
	}
}

// TestIDsOfQuestionsAreNotReused checks that a request ID is not used again, also not by the
// next controller. Otherwise an answer could go to another question.
func TestIDsOfQuestionsAreNotReused(t *testing.T) {
	names := map[string]bool{}
	for range 2 {
		r := newEngineTest(t, judged(guard.Ask, patience))
		a := r.work(r.start("a", "one"), nil)
		go func() { _, _ = a.Authorize(r.within(), worker.Call{Tool: "Bash"}) }() // it is answered below, or canceled
		r.eventually("a person is asked", func() bool { return r.pending() != nil })
		names[r.pending().RequestID] = true
		r.must(r.respond(r.pending(), runtime.ActionDeny, ""))
	}
	if len(names) != 2 {
		t.Errorf("both are %v", names)
	}
}

func TestToolThatRanAlthoughDeniedIsReported(t *testing.T) {
	r := newEngineTest(t, judged(guard.Deny, patience))
	a := r.work(r.start("a", "one"), nil)
	d, err := a.Authorize(r.within(), worker.Call{ID: "c1", Tool: "Bash"})
	if err != nil || d.Allowed || d.Rule != "the-rule" {
		t.Fatalf("decided %+v, %v", d, err)
	}
	if _, err := a.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.ToolUsed, ToolsCalled: []worker.ToolCall{{Name: "Read", CallID: "c0"}, {Name: "Bash", CallID: "c1"}}}); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	events, err := r.owner().Events(r.within(), a.RunID, 0)
	r.must(err)
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	if got := strings.Join(kinds, " "); strings.Count(got, "bypass") != 1 || !strings.Contains(got, "authorize") {
		t.Errorf("recorded: %s", got)
	}
}

// TestToolAllowedInTheAgentCLIIsNoBypass covers a call without an answer in the city: a person
// may have allowed it in the agent CLI.
func TestToolAllowedInTheAgentCLIIsNoBypass(t *testing.T) {
	r := newEngineTest(t, func(o *workers.Options) {
		o.AskTimeout = func() time.Duration { return 50 * time.Millisecond }
		o.Judge = func(session.Snapshot, worker.Call) guard.Verdict { return guard.Verdict{Action: guard.Allow} }
	})
	a := r.work(r.start("a", "one"), nil)
	d, err := a.Authorize(r.within(), worker.Call{ID: "c1", Tool: "Bash", Ask: true})
	if err != nil || d.Allowed {
		t.Fatalf("decided %+v, %v", d, err)
	}
	_, err = a.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.ToolUsed, ToolsCalled: []worker.ToolCall{{Name: "Bash", CallID: "c1"}}})
	r.must(err)
	events, err := r.owner().Events(r.within(), a.RunID, 0)
	r.must(err)
	for _, e := range events {
		if strings.Contains(e.Kind, "bypass") {
			t.Errorf("recorded: %+v", e)
		}
	}
}

// TestReportedConversationIsKnown checks that the reported conversation is known, also to a
// later controller, so that a restart resumes it.
func TestReportedConversationIsKnown(t *testing.T) {
	r := newEngineTest(t, nil)
	a := r.work(r.start("a", "one"), nil)
	r.must(a.Report(r.within(), worker.Ready, worker.Detail{ConversationID: "talk-1"}))
	for _, when := range []string{"now", "after a restart"} {
		r.eventually("the conversation is reported "+when, func() bool {
			reading, err := runtime.Sense(r.within(), r.now().provider, "a")
			return err == nil && reading.Conversation != nil && reading.Conversation.ID == "talk-1"
		})
		r.restart()
	}
}
