package prompts_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/runtime"
)

// TestPromptMetadata: it is saved with the receipt, delivered with the text after a restart, and its size is limited.
func TestPromptMetadata(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		metadata := map[string]string{"bead_id": "gt-abc12"}
		r.edit("a", func(a *agent) { a.promptHold = "not yet" })
		sent := r.send("a", "hello", func(q *client.NudgeRequest) { q.Source, q.Priority, q.Metadata = "sling", "urgent", metadata })
		metadata["bead_id"] = "changed by its sender"
		r.crash()
		var got runtime.Delivery
		r.watch = func(d runtime.Delivery) { got = d }
		r.edit("a", func(a *agent) { a.promptHold = "" })
		synctest.Wait()
		receipt := r.want(sent.ID, client.ReceiptConsumed)
		want := map[string]string{"bead_id": "gt-abc12"}
		if got.Source != "sling" || got.Priority != "urgent" || !cmp.Equal(got.Metadata, want) || !cmp.Equal(receipt.Metadata, want) {
			r.Errorf("handed over %+v; the receipt is %+v", got, receipt)
		}
		for _, bad := range []map[string]string{{"": "x"}, {"x": "\xff"}, {"x": strings.Repeat("x", 16<<10)}} {
			if _, err := r.engine.Nudge(context.WithoutCancel(r.Context()), "a", client.NudgeRequest{Text: "x", Metadata: bad}); !errors.Is(err, client.ErrInvalid) {
				r.Errorf("%d bytes of metadata: %v", len(bad["x"]), err)
			}
		}
	}, newAgent("a"))
}
