package e2e

import (
	"context"
	"slices"
	"testing"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

// TestUrgentPromptInterruptsTheTurnBeforeIt sends an urgent prompt right after
// another one was accepted, before the start of its turn was observed.
func TestUrgentPromptInterruptsTheTurnBeforeIt(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]string{"silent": "", "status": "--osc7501"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCityOf(t, "", []member{{name: "a", flags: flags}})
			c.start()
			c.await("running", running)
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			first, err := c.client.Nudge(ctx, "a", client.NudgeRequest{Text: "[[busy:10m]]", Wait: client.ReceiptSubmitted})
			if err != nil || !first.Reached(client.ReceiptSubmitted) {
				t.Fatalf("the first prompt is %+v, %v", first, err)
			}
			second, err := c.client.Nudge(ctx, "a", client.NudgeRequest{Text: "stop that", Priority: "urgent", Wait: client.ReceiptSubmitted})
			if err != nil || !second.Reached(client.ReceiptSubmitted) {
				t.Errorf("the urgent prompt is %+v, %v", second, err)
			}
			records, err := ledgertest.Wait(ctx, c.ledgerOf("a"), func(records []ledger.Record) bool {
				return slices.ContainsFunc(records, func(r ledger.Record) bool { return r.Kind == ledger.Prompt && r.Is("stop that") })
			})
			var kinds []string
			for _, r := range records {
				kinds = append(kinds, r.Kind)
			}
			if err != nil || len(kinds) < 5 || !slices.Equal(kinds[2:5], []string{ledger.Prompt, ledger.Interrupted, ledger.Prompt}) {
				t.Errorf("the agent did %q, %v; the steps are %+v", kinds, err, second.Steps)
			}
			c.stop()
		})
	}
}
