package screen

import (
	"slices"
	"testing"
	"time"

	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// TestMarksAroundMessages: what a program draws around its messages is no command that
// runs, where the profile says so.
func TestMarksAroundMessages(t *testing.T) {
	now := time.Now()
	f := Frame{Signs: vt.Signs{Mark: vt.Sign{Text: "C", Since: now.Add(-time.Minute)}}, LastOutput: now.Add(-time.Minute)}
	var rules Rules
	for _, ours := range []bool{false, true} {
		rules.Screen.MessageMarks = ours
		told := slices.ContainsFunc(Sense(f, rules, now).Evidence, func(e runtime.Evidence) bool {
			return e.Source == runtime.SourceMark && e.Activity == runtime.ActivityBusy
		})
		if told == ours {
			t.Errorf("with message_marks = %v a mark is evidence: %v", ours, told)
		}
	}
}
