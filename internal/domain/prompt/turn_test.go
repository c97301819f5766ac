package prompt_test

import (
	"testing"
	"time"

	"gascity/internal/domain/prompt"
)

// TestAnAgentIsAboutToBegin checks when an agent counts as about to start a turn: during the
// delivery of a prompt and shortly before and after it, but not with a prompt that waits for long
// or has ended.
func TestAnAgentIsAboutToBegin(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration, states ...prompt.State) prompt.Receipt {
		r := prompt.Receipt{State: prompt.Accepted, CreatedAt: now.Add(-ago), UpdatedAt: now.Add(-ago)}
		for _, s := range states {
			next, err := r.Move(s, now.Add(-ago), "")
			if err != nil {
				t.Fatal(err)
			}
			r = next
		}
		return r
	}
	for name, c := range map[string]struct {
		r    prompt.Receipt
		want bool
	}{
		"just accepted":       {at(time.Second), true},
		"waits for long":      {at(time.Minute, prompt.Queued), false},
		"is handed over":      {at(time.Minute, prompt.Queued, prompt.Injected), true},
		"was just taken":      {at(time.Second, prompt.Queued, prompt.Injected, prompt.Submitted), true},
		"was taken long ago":  {at(time.Minute, prompt.Queued, prompt.Injected, prompt.Submitted), false},
		"was taken and ended": {at(time.Second, prompt.Queued, prompt.Injected, prompt.Submitted, prompt.Submitted), false},
		"was worked on":       {at(time.Second, prompt.Queued, prompt.Injected, prompt.Submitted, prompt.Consumed), false},
		"never came":          {at(time.Second, prompt.Dead), false},
	} {
		if got := c.r.TurnStartDeadline(now).After(now); got != c.want {
			t.Errorf("%s: about to begin is %v", name, got)
		}
	}
}
