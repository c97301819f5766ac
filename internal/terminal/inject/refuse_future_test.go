package inject

import (
	"testing"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// TestAPersonNeverTypedInTheFuture covers a key that is typed after the clock was read.
func TestAPersonNeverTypedInTheFuture(t *testing.T) {
	t.Parallel()
	now := time.Now()
	v := screen.Snapshot{Frame: screen.Frame{LastHuman: now.Add(65 * time.Millisecond), Attached: 1}}
	out := refuse(v, screen.Rules{}, false, now)
	if out == nil || out.Reason != runtime.RefusedTyping || out.Detail != "a person typed 0s ago" {
		t.Errorf("refuse = %+v, want a person typed 0s ago", out)
	}
}
