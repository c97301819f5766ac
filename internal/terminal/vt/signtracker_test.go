package vt

import (
	"testing"
	"time"
)

// At a new prompt of the same program nothing goes on any more, but what it says of its
// rest stays.
func TestSignsAtAPrompt(t *testing.T) {
	for status, want := range map[string]string{"state=working": "", "state=blocked": "", "state=idle": "state=idle", "state=done": "state=done", "state=error": "state=error"} {
		var s SignTracker
		now := time.Now()
		s.Record(Notice{Kind: ProgramStatus, Text: status}, 7, now)
		s.Record(Notice{Kind: SemanticPrompt, Text: "A"}, 7, now)
		if s.Status.Text != want {
			t.Errorf("after %s and a prompt it says %q, want %q", status, s.Status.Text, want)
		}
	}
}

// A report whose process group became known later stays at a prompt of the same program, and not at one of another.
func TestSetUnknownGroup(t *testing.T) {
	for group, want := range map[int]string{7: "state=idle", 8: ""} {
		var s SignTracker
		now := time.Now()
		s.Record(Notice{Kind: ProgramStatus, Text: "state=idle"}, 0, now)
		s.SetUnknownGroup(7)
		s.Record(Notice{Kind: SemanticPrompt, Text: "A"}, group, now)
		if s.Status.Text != want {
			t.Errorf("after a prompt of group %d it says %q, want %q", group, s.Status.Text, want)
		}
	}
}
