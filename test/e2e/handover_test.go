package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
)

// exitNoController is the exit status of a command that found no controller:
// nobody has heard of what it wanted.
const exitNoController = 6

// TestANudgeSurvivesHandovers hands prompts over with the program itself while one
// controller after the other ends in order and the next one takes over: no command
// fails, and each prompt is worked on once.
func TestANudgeSurvivesHandovers(t *testing.T) {
	t.Parallel()
	const prompts, handovers = 60, 8
	c := newCrew(t, "", []member{{name: "a", flags: "--think 1ms"}})
	c.start()
	c.await("running", running)
	failed, none := make(chan string, prompts), 0
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range prompts {
			for {
				words := []string{"nudge", "a", fmt.Sprintf("prompt %d", i), "--key", fmt.Sprintf("k%d", i), "--wait", "submitted", "--city", c.root}
				out, err := exec.Command(c.gc, words...).CombinedOutput()
				if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitNoController {
					none++
					continue
				}
				if err != nil {
					failed <- fmt.Sprintf("prompt %d: %v: %s", i, err, out)
				}
				break
			}
		}
	}()
	for range handovers {
		pause(300 * time.Millisecond)
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := <-c.ended; err != nil {
			t.Errorf("a controller ended with %v", err)
		}
		c.start()
	}
	<-sent
	close(failed)
	for words := range failed {
		t.Error(words)
	}
	taken := map[string]int{}
	for _, r := range ledger.Prompts(c.records(t, "a")) {
		taken[r.Text]++
	}
	for i := range prompts {
		if n := taken[fmt.Sprintf("prompt %d", i)]; n != 1 {
			t.Errorf("prompt %d was worked on %d times", i, n)
		}
	}
	t.Logf("%d prompts over %d handovers; %d times no controller was there at all", prompts, handovers, none)
	c.stop()
}
