package tui

import (
	"fmt"
	goruntime "runtime"
	"testing"
	"time"

	"gascity/client"
)

// TestMemoryOfAnHour replays an hour of a busy city with agents that come from a pool and vanish: the heap does not grow.
func TestMemoryOfAnHour(t *testing.T) {
	m := newDemo(t, 100, 30)
	out := output{}
	heap := func() uint64 {
		goruntime.GC()
		var stats goruntime.MemStats
		goruntime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	var before uint64
	const steps = 3600
	for i := range steps {
		now := start.Add(time.Duration(i) * time.Second)
		s := demo()
		pooled := agentOf(fmt.Sprintf("pool/p-%d", i/5), "busy", 0)
		s.Agents = append(s.Agents, pooled)
		id := fmt.Sprint(i)
		for _, msg := range []Msg{
			StatusMsg{s},
			PromptsMsg{[]client.Receipt{{ID: "r" + id, Agent: pooled.Name, State: client.ReceiptQueued, CreatedAt: now}}},
			EventMsg{client.Event{Kind: "pending.raised", Agent: pooled.Name, Time: now, Data: map[string]string{"id": "q" + id, "prompt": "May I?", "options": `["Yes"]`}}},
			EventMsg{client.Event{Kind: "pending.answered", Agent: pooled.Name, Time: now, Data: map[string]string{"id": "q" + id}}},
			ScreenMsg{Agent: pooled.Name, Screen: screenOf(80, 24, "step "+id)},
			NoticeMsg{Text: id},
		} {
			m.Update(now, msg)
		}
		if i%10 == 0 {
			f := m.View()
			out.frame(f.canvas, f.cursor)
		}
		if i == steps/10 {
			before = heap()
		}
	}
	if after := heap(); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d KiB", before>>10, after>>10)
	}
}
