package cli

import (
	"testing"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
)

// TestTheOldPictureIsNoOutcome: the first status after a verb may be one from
// before it.
func TestTheOldPictureIsNoOutcome(t *testing.T) {
	agent := func(desired, state string, epoch uint64, reason string) client.Agent {
		return client.Agent{Name: "a", Desired: desired, State: state, Epoch: epoch, Reason: reason, Instance: string(rune('0' + epoch))}
	}
	quarantined := agent(client.StateRunning, client.StateQuarantined, 3, "5 failures")
	suspended := agent(client.StateSuspended, client.StateSuspended, 3, "")
	for name, c := range map[string]struct {
		judge   func(was, is client.Agent) cmdenv.Verdict
		was, is client.Agent
		want    cmdenv.Verdict
	}{
		"reset, not seen yet":         {failureCleared, quarantined, quarantined, cmdenv.Waiting},
		"reset, starts":               {failureCleared, quarantined, agent("running", client.StateStarting, 4, ""), cmdenv.Waiting},
		"reset, runs":                 {failureCleared, quarantined, agent("running", client.StateRunning, 4, ""), cmdenv.Reached},
		"reset, fails again":          {failureCleared, quarantined, agent("running", client.StateFailed, 4, "exit 1"), cmdenv.Failing},
		"reset, in quarantine again":  {failureCleared, quarantined, agent("running", client.StateQuarantined, 8, "5 failures"), cmdenv.Failing},
		"reset of what is not wanted": {failureCleared, quarantined, agent("stopped", client.StateStopped, 3, ""), cmdenv.Reached},
		"resume, not seen yet":        {runsAgain, suspended, suspended, cmdenv.Waiting},
		"resume, runs":                {runsAgain, suspended, agent("running", client.StateRunning, 4, ""), cmdenv.Reached},
		"sleep, not seen yet":         {stopped, quarantined, agent("running", client.StateRunning, 3, ""), cmdenv.Waiting},
		"sleep, sleeps":               {stopped, quarantined, agent("running", client.StateAsleep, 3, ""), cmdenv.Reached},
		"drain, winds down":           {ended, agent("running", client.StateRunning, 3, ""), agent("running", client.StateDraining, 3, ""), cmdenv.Waiting},
		"drain, next one runs":        {ended, agent("running", client.StateRunning, 3, ""), agent("running", client.StateRunning, 4, ""), cmdenv.Reached},
		"drain, not known":            {ended, agent("running", client.StateRunning, 3, ""), agent("running", client.StateUnknown, 3, ""), cmdenv.Waiting},
	} {
		if got := c.judge(c.was, c.is); got != c.want {
			t.Errorf("%s: the verdict is %d, want %d", name, got, c.want)
		}
	}
}
