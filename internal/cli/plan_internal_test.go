package cli

import (
	"slices"
	"testing"

	"gascity/client"
)

// TestLostPrompts: prompts of an agent that is not configured any more are named, whether they wait or are dead for this reason.
func TestLostPrompts(t *testing.T) {
	t.Parallel()
	plan := client.Plan{Actions: []client.Action{{Agent: "a1", Reason: notConfigured + "; deferred while it is busy"}, {Agent: "a2", Reason: "its configuration has changed"}}}
	queue := []client.Receipt{
		{Agent: "a1", State: client.ReceiptQueued},
		{Agent: "a1", State: client.ReceiptDead, Reason: "the agent is not configured any more"},
		{Agent: "a1", State: client.ReceiptDead, Reason: "its time has passed"},
		{Agent: "a1", State: client.ReceiptConsumed},
		{Agent: "a2", State: client.ReceiptQueued},
	}
	want := []string{
		"1 prompt for a1 will be dead, unless a1 is renamed; gc sees a rename if one agent of a definition gets another name in a save of city.toml",
		"1 prompt for a1 became dead, because it is not configured any more; gc sees a rename if one agent of a definition gets another name in a save of city.toml; to see the text: gc queue --all",
	}
	if got := lostPrompts(plan, queue); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
