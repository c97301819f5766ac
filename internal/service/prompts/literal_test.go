package prompts_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// TestLiteralTextIsNeverTyped: a literal text that begins like a command is delivered to an agent whose
// prompts are not typed. It waits while the channel is not connected. It is refused with the reason if the
// configuration says that prompts are typed. Other texts, and texts without --literal, are not affected.
func TestLiteralTextIsNeverTyped(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		typed := func(why string, forGood bool) {
			r.edit("a", func(a *agent) { a.byTyping = func() (string, bool) { return why, forGood } })
		}
		typed("", false)
		send := func(text string, literal bool) string {
			t.Helper()
			got, err := r.engine.Nudge(r.Context(), "a", client.NudgeRequest{Text: text, Literal: literal})
			if err != nil {
				t.Fatal(err)
			}
			if got.Literal != literal {
				t.Errorf("the receipt says literal: %v", got.Literal)
			}
			servicetest.Advance(time.Second)
			return got.ID
		}
		r.want(send("/status of the build", true), client.ReceiptConsumed)
		why := "the channel is not connected"
		typed(why, false)
		waits := send(" ! echo", true)
		if got := r.want(waits, client.ReceiptQueued); !strings.Contains(got.Reason, why) {
			t.Errorf("it waits because of %q", got.Reason)
		}
		typed("", false)
		servicetest.Advance(time.Minute)
		r.want(waits, client.ReceiptConsumed)
		typed(why, false)
		waits = send("/never", true)
		behind := send("behind it", false)
		servicetest.Advance(time.Minute)
		r.want(behind, client.ReceiptQueued)
		servicetest.Advance(2 * time.Minute)
		if got := r.want(waits, client.ReceiptDead); !strings.Contains(got.Reason, why) {
			t.Errorf("after 2 minutes without a channel it ended because of %q", got.Reason)
		}
		r.want(behind, client.ReceiptConsumed)
		why = "its agent CLI has no native channel"
		typed(why, true)
		dead := send("#note", true)
		if got := r.want(dead, client.ReceiptDead); !strings.Contains(got.Reason, why) || !strings.Contains(got.Reason, "command") {
			t.Errorf("it is refused because of %q", got.Reason)
		}
		r.want(send("plain words", true), client.ReceiptConsumed)
		r.want(send("/clear", false), client.ReceiptConsumed)
		again, err := r.engine.RetryPrompt(r.Context(), dead, client.RetryRequest{})
		if err != nil || !again.Literal {
			t.Errorf("the retry is literal: %v, %v", again.Literal, err)
		}
	}, newAgent("a"))
}

// TestTurnThatAHookReportsAsInterruptedDoesNotConsume: the hook that reports the end of an
// interrupted turn closes the prompt as submitted, before and after the attempt has ended.
func TestTurnThatAHookReportsAsInterruptedDoesNotConsume(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		land := seen(r.agents["a"], busySeen)
		sent := r.send("a", "do it")
		servicetest.Advance(time.Second)
		r.hook("do it")
		land()
		servicetest.Advance(time.Second)
		w := prompt.HookReport{Session: "s-a", Instance: r.agents["a"].view.Instance, At: time.Now(), Aborted: true}
		if err := r.engine.RecordHookReport(r.Context(), w); err != nil {
			t.Fatal(err)
		}
		servicetest.Advance(10 * time.Second)
		if got := r.want(sent.ID, client.ReceiptSubmitted); !got.Closed || !strings.Contains(got.Reason, "turn was aborted") {
			t.Errorf("it is closed: %v, because of %q", got.Closed, got.Reason)
		}
	}, newAgent("a"))
}

// TestTurnAbortedDuringTheAttemptDoesNotConsume: an abort that is reported before the
// attempt has ended closes the prompt as submitted when it ends, for every source of the
// report and every result of the attempt.
func TestTurnAbortedDuringTheAttemptDoesNotConsume(t *testing.T) {
	for name, out := range map[string]runtime.Outcome{"seen": busySeen, "not seen": unseen} {
		for _, by := range []string{"a hook", "gc interrupt"} {
			t.Run(name+", "+by, func(t *testing.T) {
				inVirtualTime(t, func(r *engineTest) {
					land := seen(r.agents["a"], out)
					sent := r.send("a", "do it")
					servicetest.Advance(time.Second)
					r.hook("do it")
					instance := r.agents["a"].view.Instance
					if by == "a hook" {
						if err := r.engine.RecordHookReport(r.Context(), prompt.HookReport{Session: "s-a", Instance: instance, At: time.Now(), Aborted: true}); err != nil {
							t.Fatal(err)
						}
					} else {
						r.engine.TurnAborted(r.Context(), "s-a", instance)
					}
					servicetest.Advance(time.Second)
					r.hook("") // the end of the turn, reported again
					land()
					servicetest.Advance(10 * time.Second)
					if got := r.want(sent.ID, client.ReceiptSubmitted); !got.Closed || !strings.Contains(got.Reason, "turn was aborted") {
						t.Errorf("the receipt is closed: %v, because of %q", got.Closed, got.Reason)
					}
				}, newAgent("a"))
			})
		}
	}
}

// TestPromptThatAWorkerRefusesEnds: a prompt that the agent's worker refuses each time goes
// back into the queue three times. Then it is dead, the receipt has the worker's reason, and
// the next prompt is delivered.
func TestPromptThatAWorkerRefusesEnds(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		tries := 0
		r.agents["a"].deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
			if text == "no" {
				tries++
				return prompt.RefusedByWorker("this text is not allowed"), nil
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.accept(text), nil
		}
		sent := r.send("a", "no")
		next := r.send("a", "yes")
		servicetest.Advance(10 * time.Minute)
		got := r.want(sent.ID, client.ReceiptDead)
		if tries != prompt.MaxSentBack+1 || !strings.Contains(got.Reason, "worker refused it: this text is not allowed") {
			t.Errorf("sent %d times, the reason is %q", tries, got.Reason)
		}
		if got, err := r.engine.Receipt(r.Context(), next.ID, ""); err != nil || got.State != client.ReceiptSubmitted && got.State != client.ReceiptConsumed {
			t.Errorf("the next prompt is %s, %v", got.State, err)
		}
	}, newAgent("a"))
}
