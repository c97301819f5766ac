package memory

import (
	"testing"
	"time"

	"gascity/internal/term"
)

// At a new prompt of the same program nothing goes on any more, but what it says of its
// rest stays.
func TestSignsAtAPrompt(t *testing.T) {
	for status, want := range map[string]string{"state=working": "", "state=blocked": "", "state=idle": "state=idle", "state=done": "state=done", "state=error": "state=error"} {
		var s Heard
		now := time.Now()
		s.Hear(term.Notice{Kind: term.ProgramStatus, Payload: status}, 7, now)
		s.Hear(term.Notice{Kind: term.SemanticPrompt, Text: "A"}, 7, now)
		if s.Status.Text != want {
			t.Errorf("after %s and a prompt it says %q, want %q", status, s.Status.Text, want)
		}
	}
}
