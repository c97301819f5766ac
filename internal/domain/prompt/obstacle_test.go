package prompt_test

import (
	"strings"
	"testing"
	"time"

	"gascity/internal/domain/prompt"
	"gascity/runtime"
)

// TestPromptsWaitForTheProbe checks that, during an obstacle such as a usage limit, prompts of
// every priority wait until the next try. Then one is sent, and the next one waits for its result.
func TestPromptsWaitForTheProbe(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, priority := range []prompt.Priority{prompt.Normal, prompt.Urgent, prompt.System} {
		r := prompt.Receipt{ID: "p-1", State: prompt.Queued, Priority: priority, CreatedAt: now.Add(-time.Minute), ExpiresAt: now.Add(time.Hour)}
		s := prompt.Observation{
			Known: true, Instance: "i", Activity: runtime.ActivityIdle, IsCertain: true, Since: now.Add(-time.Minute), ReadAt: now,
			Obstacle: "login needed: run /login", ProbeAt: now.Add(time.Minute),
		}
		decide := func(at time.Time) prompt.Action { return prompt.Decide([]*prompt.Receipt{&r}, s, at, "") }
		if a := decide(now); a.Verb != prompt.VerbWait || !a.At.Equal(s.ProbeAt) || !strings.Contains(a.Detail, "login needed") {
			t.Errorf("priority %v: before the probe: %+v", priority, a)
		}
		if a := decide(s.ProbeAt); a.Verb != prompt.VerbDeliver {
			t.Errorf("priority %v: at the time of the probe: %+v", priority, a)
		}
		s.AcceptedAt = s.ProbeAt.Add(time.Second)
		if a := decide(s.AcceptedAt.Add(time.Second)); a.Verb != prompt.VerbWait {
			t.Errorf("priority %v: a second prompt right behind the probe: %+v", priority, a)
		}
		if a := decide(s.AcceptedAt.Add(2 * time.Minute)); a.Verb != prompt.VerbDeliver {
			t.Errorf("priority %v: no other time is set, and it waits: %+v", priority, a)
		}
	}
}
