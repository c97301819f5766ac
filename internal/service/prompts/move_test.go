package prompts_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"gascity/client"
)

// TestPromptsOfARenamedAgentStayBoundToItsConversation proves that a prompt that was meant for a
// conversation is still bound to it after its agent was renamed. The agent gets it if it continues
// that conversation under its new name, and not in another one.
func TestPromptsOfARenamedAgentStayBoundToItsConversation(t *testing.T) {
	for conversation, want := range map[string]string{"talk": client.ReceiptConsumed, "another": client.ReceiptDead} {
		old, renamed := newAgent("a"), newAgent("b")
		inVirtualTime(t, func(r *engineTest) {
			r.edit("b", func(b *agent) { b.end(client.StateStopped) })
			r.edit("a", func(a *agent) { a.view.Ready, a.view.Conversation.ID = false, "talk" })
			bound := r.send("a", "bound")
			r.edit("a", func(a *agent) { a.view.MovesTo, a.view.Agent = "s-b", "b" })
			synctest.Wait()
			if moved := r.want(bound.ID, client.ReceiptQueued); moved.Agent != "b" || moved.Session != "s-b" {
				r.Errorf("the prompt waits for %s in %s", moved.Agent, moved.Session)
			}
			r.edit("b", func(b *agent) { b.view.Conversation.ID = conversation; b.start() })
			synctest.Wait()
			r.want(bound.ID, want)
			if got := renamed.ledger; slices.Contains(got, "bound") != (conversation == "talk") || len(old.ledger) > 0 {
				r.Errorf("in the conversation %s the agent got %v, and before it was renamed %v", conversation, got, old.ledger)
			}
		}, old, renamed)
	}
}
