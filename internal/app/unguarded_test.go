package app_test

import (
	"context"
	"strings"
	"testing"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/citytest"
)

// TestHeldPromptsGoWhenTheGuardAllowsThem checks that a prompt that waits because its agent is
// unguarded is delivered as soon as city.toml says unguarded = "report".
func TestHeldPromptsGoWhenTheGuardAllowsThem(t *testing.T) {
	const agent = "[[agents]]\nname = \"a\"\nstart_command = \"fake_agent\"\n"
	city := citytest.New(t, "[guard]\n"+agent)
	city.AwaitRunning("a", runtime.ActivityIdle)
	sent, err := city.Client.Nudge(t.Context(), "a", client.NudgeRequest{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	city.Until("the prompt waits for the guard", func(ctx context.Context) bool {
		r, err := city.Client.Receipt(ctx, sent.ID, "")
		return err == nil && strings.Contains(r.Reason, "unguarded")
	})
	city.Write("[guard]\nunguarded = \"report\"\n" + agent)
	city.Until("the prompt is accepted", func(ctx context.Context) bool {
		r, err := city.Client.Receipt(ctx, sent.ID, "")
		return err == nil && (r.State == client.ReceiptSubmitted || r.State == client.ReceiptConsumed)
	})
}
