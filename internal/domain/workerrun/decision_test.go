package workerrun_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/internal/domain/workerrun"
	"gascity/worker"
)

// TestADecisionIsWrittenAsEncodingJSONDoes, whatever is in it.
func TestADecisionIsWrittenAsEncodingJSONDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[ -~]{0,12}`), rapid.StringMatching(`[a-z ,:.]{0,20}`), rapid.String())
		d := worker.Decision{
			Allowed: rapid.Bool().Draw(t, "allowed"), Reason: text.Draw(t, "reason"), Effect: worker.Effect(text.Draw(t, "effect")),
			Rule: text.Draw(t, "rule"), Interaction: text.Draw(t, "interaction"),
		}
		if rapid.IntRange(0, 9).Draw(t, "allowance") == 0 {
			d.Allowance = &worker.Allowance{RunID: text.Draw(t, "run"), Until: time.Unix(7, 0).UTC()}
		}
		got, err := workerrun.Text(d)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := json.Marshal(d); err != nil || string(got) != string(want) {
			t.Fatalf("got %s, want %s (%v)", got, want, err)
		}
	})
}
