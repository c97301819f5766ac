package prompts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/internal/statedir"
	"gascity/test/storetest"
)

// A delivery continues after its controller was killed. The next controller gets the outcome by the id of the
// delivery, and does not deliver again.
func TestDeliveryContinuesWithoutItsController(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	h, err := newPTYCity(dir, &storetest.Receipts{}) // starts and stops the agent, and sends no prompts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.close(t) })
	path := h.begin(t, "slow", "--think", "20ms", "--slow-read", "100ms")
	v := startControllerProcess(t, dir, []string{"slow"})
	sent, err := v.ask(order{Name: "slow", Req: client.NudgeRequest{Text: "a prompt"}})
	if err != nil {
		t.Fatal(err)
	}
	file := statedir.For(filepath.Join(dir, "s"), "slow").Deliveries()
	for end := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), sent.ID+" 1") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the name of the delivery is not on disk")
		}
	}
	v.kill9()
	next := startControllerProcess(t, dir, []string{"slow"})
	got, err := next.ask(order{Wait: sent.ID})
	if err != nil || got.State != client.ReceiptConsumed || got.Attempts != 1 {
		t.Errorf("%+v, %v, want it consumed after one attempt", got, err)
	}
	if err := next.in.Close(); err != nil {
		t.Error(err)
	}
	<-next.done
	records, err := ledger.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if taken := ledger.Prompts(records); len(taken) != 1 || taken[0].Text != "a prompt" {
		t.Errorf("the agent got %+v", taken)
	}
}
