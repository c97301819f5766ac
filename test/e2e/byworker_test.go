package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// TestPromptsWaitForTheWorker: nothing is typed to an agent with prompt_mode "worker" before its worker
// connects, although its prompts wait long and the controller is killed. The receipts have the reason, and
// each prompt arrives once when the worker connects.
func TestPromptsWaitForTheWorker(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "", nil)
	speak := filepath.Join(c.root, "speak")
	file, err := os.OpenFile(filepath.Join(c.root, client.CityFile), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(file, "[[agents]]\nname = \"late\"\nprompt_mode = \"worker\"\nnudge = \"Your first task\"\nstart_command = \"while [ ! -e %s ]; do sleep 0.05; done; exec %s --worker --ledger %s\"\n",
		speak, c.agent, c.ledgerOf("late"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	c.start()
	c.await("running", running)
	r, err := c.client.Nudge(t.Context(), "late", client.NudgeRequest{Text: "Hello there"})
	if err != nil {
		t.Fatal(err)
	}
	waits := func(client.Status) bool {
		list, err := c.client.Queue(t.Context(), "late", client.OnlyOpen)
		return err == nil && len(list) == 1 && strings.Contains(list[0].Reason, "no worker of the agent is connected")
	}
	c.await("a report for what the prompt waits", waits)
	if x, err := c.client.Explain(t.Context(), "late"); err != nil || len(x.Queue) != 1 || !strings.Contains(x.Queue[0].Reason, "no worker of the agent is connected") {
		t.Errorf("it is explained by %+v, %v", x.Queue, err)
	}
	c.kill()
	c.start()
	c.await("running again", running)
	c.await("another report of it", waits)
	if screen, err := c.client.Peek(t.Context(), "late", 50); err != nil || strings.Contains(screen.Text, "Hello") || strings.Contains(screen.Text, "task") {
		t.Errorf("its terminal shows %q, %v", screen.Text, err)
	}
	if err := os.WriteFile(speak, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = c.client.Receipt(t.Context(), r.ID, client.ReceiptConsumed); err != nil || r.State != client.ReceiptConsumed {
		t.Errorf("the receipt is %+v, %v", r, err)
	}
	took := map[string]int{}
	for _, rec := range c.records(t, "late") {
		if rec.Kind == ledger.Prompt {
			took[rec.Text]++
			if rec.Source != "worker" {
				t.Errorf("it took %q from %q", rec.Text, rec.Source)
			}
		}
	}
	if took["Hello there"] != 1 {
		t.Errorf("it took %v", took)
	}
	c.stop()
}
