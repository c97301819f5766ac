package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// TestUnknownDialogAtTheStart starts an agent with an unknown dialog. No key is pressed, the start completes with a
// warning about the dialog in status and explanation, and a person is asked.
func TestUnknownDialogAtTheStart(t *testing.T) {
	c := newCityOf(t, "", []member{{name: "asks", flags: "--dialog unknown"}})
	c.start()
	defer c.stop()
	found := c.awaitAgent("asks", client.StateRunning)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var open []client.Pending
	for len(open) == 0 {
		var err error
		if open, err = c.client.Pending(ctx, "asks", client.OnlyOpen); err != nil {
			t.Fatalf("nothing is pending: %v; the agent is %+v", err, found)
		}
		pause(100 * time.Millisecond)
	}
	e, err := c.client.Explain(ctx, "asks")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if found.Warning == "" || !slices.Contains(e.Warnings, found.Warning) || !strings.Contains(found.Warning, "dialog") {
		t.Errorf("the warning in the status is %q, the explanation is %s", found.Warning, text)
	}
	if len(e.Pending) == 0 {
		t.Errorf("the explanation has no open question: %s", text)
	}
	records, err := ledger.Read(c.ledgerOf("asks"))
	if err != nil || len(ledger.Of(records, ledger.Start)) != 1 || len(ledger.Of(records, ledger.Dialog)) > 0 {
		t.Errorf("a key was pressed, or the agent was started again: %+v, %v", records, err)
	}
}
