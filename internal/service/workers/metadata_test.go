package workers_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/worker"
)

// TestPromptHasTheMetadataOfItsSender: priority, source and metadata reach the queue and the
// worker unchanged, also if the controller is killed in between.
func TestPromptHasTheMetadataOfItsSender(t *testing.T) {
	r := newEngineTest(t, nil)
	env := r.start("a", "one")
	a := r.work(env, nil)
	metadata := map[string]string{"from": "gastown/crew/tom", "bead_id": "gt-abc12", "ünï": "\"quoted\"\n"}
	_, err := r.owner().Prompt(r.within(), worker.Prompt{
		RunID: env["GC_RUN_ID"], Content: "review", Priority: worker.Urgent, Source: "mail", Metadata: metadata,
	}, "")
	r.must(err)
	if got := r.Accepted(); len(got) != 1 || got[0].Source != "mail" || got[0].Priority != "urgent" || !cmp.Equal(got[0].Metadata, metadata) {
		t.Errorf("the queue was given %+v", got)
	}
	stop := r.disturb(2)
	d := delivery("p1", "one", "review")
	d.Priority, d.Source, d.Metadata = "urgent", "mail", metadata
	r.deliver(d)
	stop()
	for _, m := range a.had(worker.PromptMessage) {
		var p worker.Prompt
		r.must(json.Unmarshal(m.Data, &p))
		if p.Priority != worker.Urgent || p.Source != "mail" || !cmp.Equal(p.Metadata, metadata) {
			t.Errorf("the worker got %+v", p)
		}
	}
	if len(a.had(worker.PromptMessage)) == 0 {
		t.Error("the worker got nothing")
	}
}
