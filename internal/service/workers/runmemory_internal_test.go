package workers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity/worker"
)

// The saved run always fits into its metadata value: the oldest questions are dropped first, and the original
// questions are not changed.
func TestSavedRunFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := runMemory{Run: "run-1", Streamed: true, Sent: []string{"p-1"}}
		for range rapid.IntRange(0, 12).Draw(t, "questions") {
			q := worker.Interaction{ID: rapid.StringMatching(`[a-z]{4}`).Draw(t, "id"), Text: strings.Repeat("x", rapid.IntRange(0, 20<<10).Draw(t, "text"))}
			if rapid.Bool().Draw(t, "with input") {
				q.Input, _ = json.Marshal(strings.Repeat("y", rapid.IntRange(0, 30<<10).Draw(t, "input")))
			}
			m.Asked = append(m.Asked, q)
		}
		before := slices.Clone(m.Asked)
		text, err := m.Text()
		if err != nil || len(text) > 60<<10 {
			t.Fatalf("a note of %d bytes, %v", len(text), err)
		}
		for i, q := range m.Asked {
			if q.ID != before[i].ID || string(q.Input) != string(before[i].Input) {
				t.Fatalf("question %d changed", i)
			}
		}
		var kept runMemory
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			t.Fatal(err)
		}
		if kept.Run != m.Run || !kept.Streamed || !slices.Equal(kept.Sent, m.Sent) {
			t.Fatalf("kept %+v of %+v", kept, m)
		}
		youngest := before[len(before)-len(kept.Asked):]
		for i, q := range kept.Asked {
			if q.ID != youngest[i].ID || q.Text != youngest[i].Text {
				t.Fatalf("kept question %d is %s, want %s", i, q.ID, youngest[i].ID)
			}
		}
	})
}

// Every attempt of a prompt has its own id, and each id leads to the receipt.
func TestAttempts(t *testing.T) {
	t.Parallel()
	var sent []string
	if findLastAttempt(sent, "p-1") != "" {
		t.Error("what was never sent has a name")
	}
	sent = append(sent, "p-1", "p-10")
	all := slices.Clone(sent)
	for range 30 {
		next := nextAttempt(sent, "p-1")
		if slices.Contains(all, next) || receiptOf(next) != "p-1" {
			t.Fatalf("the next of %v is %s, of receipt %s", sent, next, receiptOf(next))
		}
		sent, all = append(sent, next), append(all, next)
		if len(sent) > 4 { // the oldest are dropped
			sent = append([]string{"p-10"}, sent[len(sent)-3:]...)
		}
		if findLastAttempt(sent, "p-1") != next {
			t.Fatalf("the newest of %v is %s", sent, findLastAttempt(sent, "p-1"))
		}
	}
	if findLastAttempt(sent, "p-10") != "p-10" || receiptOf("p-10") != "p-10" {
		t.Error("one prompt is taken for another")
	}
}
