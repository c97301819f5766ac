package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

// hiddenAgent reads keys and shows nothing of them, so that a text in its input box
// cannot be distinguished from one that it has accepted. It records what it reads.
const hiddenAgent = `stty -echo -icanon min 1 time 0; printf '> '; exec cat >>taken`

// TestBlockedInputBoxIsReportedAndCleared gives a prompt to an agent that hides its input
// box. The status and a question show that its input is blocked. gc keys --clear-input, and the answer to
// the question, empty a box that is really blocked.
func TestBlockedInputBoxIsReportedAndCleared(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "", nil)
	c.addHidden()
	c.start()
	c.await("running", running)
	blocked := func(s client.Status) bool { return s.Agents[0].InputBlocked != "" }
	free := func(s client.Status) bool { return s.Agents[0].InputBlocked == "" }

	c.nudgeHidden("first")
	if why := c.await("input blocked", blocked).Agents[0].InputBlocked; !strings.Contains(why, "--clear-input") {
		t.Errorf("the reason names no remedy: %s", why)
	}
	if out := c.runs("status"); !strings.Contains(out, "input blocked") {
		t.Errorf("gc status does not say it:\n%s", out)
	}
	if asked := c.question(); asked.Kind != client.PendingInputBlocked || asked.Agent != "hidden" {
		t.Errorf("the question is %+v", asked)
	}
	if out := c.runs("keys", "hidden", "--clear-input"); !strings.Contains(out, "cleared the input box of hidden") {
		t.Errorf("gc keys says %q", out)
	}
	c.await("free again", free)

	c.nudgeHidden("second")
	c.await("input blocked again", blocked)
	if _, err := c.client.Respond(t.Context(), c.question().ID, client.RespondRequest{Text: "go on"}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a text is an answer to a question that has only an option: %v", err)
	}
	if _, err := c.client.Respond(t.Context(), c.question().ID, client.RespondRequest{Option: "clear the input box"}); err != nil {
		t.Error(err)
	}
	c.await("free after the answer", free)
	taken, err := os.ReadFile(filepath.Join(c.root, "taken"))
	if err != nil || strings.Count(string(taken), "first") != 1 || strings.Count(string(taken), "second") != 1 || strings.Contains(string(taken), "\r") {
		t.Errorf("the agent read %q, %v", taken, err)
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
}

// addHidden adds the agent to a city that does not run.
func (c *city) addHidden() {
	c.t.Helper()
	file, err := os.OpenFile(filepath.Join(c.root, client.CityFile), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = fmt.Fprintf(file, "[[agents]]\nname = \"hidden\"\nwork_dir = %q\nstart_command = %q\nready_prompt_prefix = \"> \"\n", c.root, hiddenAgent)
	if err := errors.Join(err, file.Close()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *city) nudgeHidden(text string) {
	c.t.Helper()
	if _, err := c.client.Nudge(c.t.Context(), "hidden", client.NudgeRequest{Text: text}); err != nil {
		c.t.Fatal(err)
	}
}

// question returns the only open question.
func (c *city) question() client.Pending {
	c.t.Helper()
	open, err := c.client.Pending(c.t.Context(), "", client.OnlyOpen)
	if err != nil || len(open) != 1 {
		c.t.Fatalf("the open questions are %+v, %v", open, err)
	}
	return open[0]
}

// runs runs gc in the city and returns the output.
func (c *city) runs(args ...string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), c.gc, args...)
	cmd.Dir = c.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Errorf("gc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
