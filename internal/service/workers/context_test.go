package workers_test

import (
	"testing"

	"gascity/worker"
)

// TestChangedContextIsSentAgain proves over the wire that POST /context sends a section again whose
// content changed, and in mode compact. If nothing is sent, the response is not accepted and has the
// reason for each section.
func TestChangedContextIsSentAgain(t *testing.T) {
	r := newEngineTest(t, nil)
	run := r.work(r.start("a", "one"), nil)
	post := func(mode worker.ContextMode, mail string) worker.ContextAnswer {
		t.Helper()
		answer, err := r.owner().Context(r.within(), worker.Context{RunID: run.RunID, Mode: mode, Sections: []worker.Section{
			{Type: "mail", Content: mail}, {Type: "checkpoint", Content: "the state before"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if first := post(worker.FullContext, "2 unread"); !first.Accepted || first.ID == "" || len(first.Skipped) != 0 {
		t.Errorf("the first call is answered %+v", first)
	}
	if same := post(worker.FullContext, "2 unread"); same.Accepted || same.ID != "" || len(same.Skipped) != 2 || same.SkippedReasons["mail"] == "" || same.SkippedReasons["checkpoint"] == "" {
		t.Errorf("the same again is answered %+v", same)
	}
	if changed := post(worker.FullContext, "5 unread"); !changed.Accepted || changed.ID == "" || len(changed.Skipped) != 1 || changed.Skipped[0] != "checkpoint" {
		t.Errorf("a changed section is answered %+v", changed)
	}
	if compacted := post(worker.CompactContext, "5 unread"); !compacted.Accepted || len(compacted.Skipped) != 0 {
		t.Errorf("after a compaction it is answered %+v", compacted)
	}
}
