package oscstate

import (
	"testing"
	"time"

	"gascity/internal/terminal/vt"
)

// At a new prompt of the same program nothing goes on any more, but what it says of its
// rest stays.
func TestSignsAtAPrompt(t *testing.T) {
	for status, want := range map[string]string{"state=working": "", "state=blocked": "", "state=idle": "state=idle", "state=done": "state=done", "state=error": "state=error"} {
		var s SignTracker
		now := time.Now()
		s.Record(vt.Notice{Kind: vt.ProgramStatus, Payload: status}, 7, now)
		s.Record(vt.Notice{Kind: vt.SemanticPrompt, Text: "A"}, 7, now)
		if s.Status.Text != want {
			t.Errorf("after %s and a prompt it says %q, want %q", status, s.Status.Text, want)
		}
	}
}
