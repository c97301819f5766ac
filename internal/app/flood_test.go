package app

import (
	"testing"
	"time"

	"gascity/client"
)

// TestAnAgentThatFloodsLeavesRoomOnTheTimeLine runs an agent that reports 1,200 states within
// seconds. It checks that the event log gets a limited number of them, that the last state is in
// it, and that the start of another agent and a question are still in it.
func TestAnAgentThatFloodsLeavesRoomOnTheTimeLine(t *testing.T) {
	d := newDaemon(t)
	root := newCity(t, `
[workspace]
name = "town"
[daemon]
shutdown_timeout = "200ms"
[[agents]]
name = "noisy"
start_command = "sleep 0.5; for i in $(seq 600); do printf '\\033]7501;status=working\\a\\033]7501;status=idle\\a'; sleep 0.002; done; printf '\\033]7501;status=done\\a'; sleep 300"
[[agents]]
name = "quiet"
start_command = "sleep 300"
`)
	begun := time.Now()
	r := runController(t, d, root)
	kinds, last := map[string]int{}, ""
	after := uint64(0)
	r.until("noisy", "done, as the time line shows", func(client.Agent) bool {
		page, err := r.client.PastEvents(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			after = e.ID
			kinds[e.Agent+" "+e.Kind]++
			if e.Kind == "session.status" {
				last = e.Data["status"]
			}
		}
		return last == "status=done" && kinds["quiet session.started"] == 1 && kinds["noisy session.started"] == 1
	})
	if n, most := kinds["noisy session.status"], 310+int(time.Since(begun)/(200*time.Millisecond)); n > most {
		t.Errorf("%d of 1201 reports are on the time line, want at most %d", n, most)
	}
}
