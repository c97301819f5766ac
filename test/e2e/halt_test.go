package e2e

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"gascity/client"
)

// TestHaltedControllerStopsNoAgent stops the controller alone for GC_E2E_HALT seconds,
// while agents pass their idle limit, print, and one crashes. Afterwards no agent is
// stopped for the lost time, the crashed one is restarted, and missed patrols are not repeated. The halt must be
// 10 s longer than the idle limit, because it counts from the time of the next planned observation.
func TestHaltedControllerStopsNoAgent(t *testing.T) {
	t.Parallel()
	const calm = 10 * time.Second // how long the controller is observed afterwards
	halt := time.Duration(setting(t, "GC_E2E_HALT", 26)) * time.Second
	members := []member{{name: "crashes"}, {name: "prints", flags: "--osc7501"}}
	for i := range 20 {
		members = append(members, member{name: name(i), toml: "idle_timeout = \"14s\""})
	}
	c := newCityOf(t, "patrol_interval = \"20s\"\n", members)
	c.start()
	c.await("running", running)
	pause(2 * time.Second)
	controller := []int{c.cmd.Process.Pid}
	before := c.await("answering", func(client.Status) bool { return true })
	for _, a := range before.Agents {
		if a.State != client.StateRunning {
			t.Fatalf("%s is %s before anything was halted", a.Name, a.State)
		}
	}
	nudge(t, c, "prints", "[[busy:"+halt.String()+"]]")
	mark := c.lastEvent(t)
	send(t, controller[0], syscall.SIGSTOP)
	send(t, agentIn(before, "crashes").PID, syscall.SIGKILL)
	pause(halt)
	forks, busy := machineForks(t), timeOf(t, controller)
	send(t, controller[0], syscall.SIGCONT)
	pause(calm)
	forks, busy = machineForks(t)-forks, timeOf(t, controller)-busy
	status := c.await("back", func(s client.Status) bool { return agentIn(s, "crashes").State == client.StateRunning })
	t.Logf("halted for %v; in the %v after it the machine made %d processes, and the controller ran for %v", halt, calm, forks, busy)
	if busy > calm/5 {
		t.Errorf("the controller ran for %v of the %v after it", busy, calm)
	}
	for _, a := range status.Agents {
		if was := agentIn(before, a.Name); a.Name != "crashes" && (a.PID != was.PID || a.State != client.StateRunning) {
			t.Errorf("%s is %s (%s) as process %d, it was %d", a.Name, a.State, a.Reason, a.PID, was.PID)
		}
	}
	events, err := c.client.PastEvents(t.Context(), mark)
	if err != nil {
		t.Fatal(err)
	}
	told := slices.ContainsFunc(events.Events, func(e client.Event) bool { return e.Kind == "host.resumed" })
	if !told {
		t.Error("the pause of the controller was not reported")
	}
	for _, e := range events.Events {
		if e.Kind == "session.stopping" || e.Agent != "crashes" && (e.Kind == "session.starting" || e.Kind == "session.exited" || e.Kind == "session.lost") {
			t.Errorf("after the halt: %+v", e)
		}
	}
	c.stop()
}

// TestCrashIsSeenAtOnce kills agents one after the other, through the whole city,
// and measures how long it takes until the controller has reported it.
func TestCrashIsSeenAtOnce(t *testing.T) {
	const crashes = 10
	members := make([]member, crashes)
	for i := range members {
		members[i].name = name(i)
	}
	c := newCityOf(t, "", members)
	c.start()
	status := c.await("running", running)
	pause(time.Second)
	var took []time.Duration
	for i := range crashes {
		mark := c.lastEvent(t)
		began := time.Now()
		send(t, agentIn(status, name(i)).PID, syscall.SIGKILL)
		for seen := false; !seen && time.Since(began) < 10*time.Second; {
			page, err := c.client.PastEvents(t.Context(), mark)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Events {
				if e.Kind == "session.exited" && e.Agent == name(i) {
					seen = true
					took = append(took, e.Time.Sub(began))
				}
			}
		}
	}
	slices.Sort(took)
	if len(took) != crashes {
		t.Fatalf("%d of %d crashes were seen", len(took), crashes)
	}
	t.Logf("a crash is reported after %v in the median, %v at most", took[crashes/2].Round(time.Microsecond), took[crashes-1].Round(time.Microsecond))
	if took[0] > 100*time.Millisecond { // the others may have waited for a processor
		t.Errorf("a crash is reported after %v at best, budget 100 ms", took[0])
	}
	c.await("running again", running)
	c.stop()
}
