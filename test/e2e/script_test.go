package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

// TestOldSessionScript runs a city with a session script that only implements the protocol of the existing
// implementation. It is selected by GC_SESSION and keeps its state in GC_EXEC_STATE_DIR. Its agents start, get
// each prompt once, are observed, restarted and adopted, and a stop leaves nothing. gc reports nothing that such
// a script cannot prove.
func TestOldSessionScript(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"tmux", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	c := newCityOf(t, "patrol_interval = \"500ms\"\n", []member{{name: "old"}})
	text, err := os.ReadFile(filepath.Join("testdata", "old-session"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.root, "old-session"), text, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	state := filepath.Join(c.root, "scripts' state")
	c.env = []string{"GC_SESSION=exec:./old-session", "GC_EXEC_STATE_DIR=" + state}
	c.start()
	where := map[string]string{"old": "exec:./old-session"}
	first := c.waitPlaced(where)["old"]
	if _, err := os.Stat(filepath.Join(state, "mux")); err != nil {
		t.Errorf("the script's state is not where GC_EXEC_STATE_DIR says: %v", err)
	}

	r, err := c.client.Nudge(t.Context(), "old", client.NudgeRequest{Text: "for the old one", Wait: client.ReceiptSubmitted})
	if err != nil || r.State != client.ReceiptUnconfirmed || r.Attempts != 1 {
		t.Errorf("the receipt is %s after %d attempts (%s), %v; want it unconfirmed after one: the script proves nothing", r.State, r.Attempts, r.Reason, err)
	}
	if _, err := ledgertest.Wait(t.Context(), c.ledgerOf("old"), ledgertest.Has(ledger.Prompt, 1)); err != nil {
		t.Fatal(err)
	}
	if out := c.run(t, "peek", "old"); !strings.Contains(out, "for the old one") {
		t.Errorf("gc peek shows %q", out)
	}

	c.kill()
	c.start()
	if again := c.waitPlaced(where)["old"]; again != first {
		t.Errorf("the agent was process %d, after the controller's death it is %d", first, again)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.await("running again", func(s client.Status) bool {
		a := agentIn(s, "old")
		alive := processes(c.ledgerOf("old"))
		return a.State == client.StateRunning && a.Restarts == 1 && len(alive) == 1 && alive[0] != first
	})
	c.stop()
	if alive := processes(c.ledgerOf("old")); len(alive) > 0 {
		t.Errorf("the processes %v are left after the stop", alive)
	}
	prompts, err := ledger.Read(c.ledgerOf("old"))
	if got := ledger.Of(prompts, ledger.Prompt); err != nil || len(got) != 1 || !got[0].Is("for the old one") {
		t.Errorf("the agent consumed %+v, %v; want the prompt once", got, err)
	}
}
