package questions

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// TestFoldProperty calls Fold with random sequences of snapshots and compares the result with a
// simple model.
func TestFoldProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		var c QuestionState
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
			v := drawSnapshot(t, now)
			var before session.Pending
			if c.Open != nil {
				before = *c.Open
			}
			next, ended := Fold(c, v, Policy{}, now)
			if c.Open != nil && c.Open.State != client.PendingOpen {
				t.Fatal("Fold changed its argument")
			}
			checkFold(t, c, before, v, next, ended)
			c = next
			if c.Open != nil {
				c.Open.ID = "q-1"
			}
		}
	})
}

func drawSnapshot(t *rapid.T, now time.Time) session.Snapshot {
	v := session.Snapshot{
		Agent: "a", Session: "s", Instance: rapid.SampledFrom([]string{"", "i1", "i2"}).Draw(t, "instance"),
		Running: rapid.Bool().Draw(t, "running"),
		State:   session.State(rapid.SampledFrom([]string{client.StateRunning, client.StateStopping, client.StateStopped, client.StateLost, "nonsense"}).Draw(t, "state")),
		Unknown: rapid.SampledFrom([]string{"", "", "", "away"}).Draw(t, "unknown"),
	}
	if rapid.Bool().Draw(t, "read") {
		v.ReadAt = now.Add(-time.Duration(rapid.IntRange(0, 8000).Draw(t, "age")) * time.Millisecond)
	}
	if id := rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(t, "asks"); id != "" {
		v.Pending = &runtime.PendingInteraction{RequestID: id, Kind: runtime.WaitQuestion}
	}
	return v
}

func checkFold(t *rapid.T, c QuestionState, before session.Pending, v session.Snapshot, next QuestionState, ended []session.Pending) {
	if v.Unknown != "" && (next != c || len(ended) > 0) {
		t.Fatalf("the session is unknown (%q), and the state changed", v.Unknown)
	}
	if next.Read.Before(c.Read) {
		t.Fatal("an older reading was folded")
	}
	if len(ended) > 1 || len(ended) == 1 && c.Open == nil {
		t.Fatalf("%d episodes ended of %v", len(ended), c.Open)
	}
	for _, p := range ended {
		if p.Request != before.Request || p.EndedAt.IsZero() {
			t.Fatalf("ended %+v, which is not the open one", p)
		}
		fresh := !v.ReadAt.IsZero() && !v.ReadAt.Before(c.Read)
		switch p.State {
		case client.PendingGone:
			if v.Running && (v.Instance == "" || v.Instance == before.Instance) {
				t.Fatal("gone, although its instance runs")
			}
		case client.PendingResolved:
			if !fresh || v.Instance != before.Instance || v.Pending != nil && v.Pending.RequestID == before.Request {
				t.Fatal("resolved, although no newer reading of its instance shows that")
			}
		default:
			t.Fatalf("ended as %s without an answer", p.State)
		}
	}
	if next.Open != nil && next.Open != c.Open {
		if v.Pending == nil || next.Open.Request != v.Pending.RequestID || next.Open.Instance != v.Instance || v.Instance == "" || v.ReadAt.IsZero() {
			t.Fatalf("raised %+v from %+v", next.Open, v)
		}
	}
	if c.Open != nil && next.Open == nil && len(ended) == 0 {
		t.Fatal("a question disappeared without an end")
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	long := make([]byte, 1<<20)
	for i := range long {
		long[i] = "ü"[i%2]
	}
	options := make([]string, 5000)
	for i := range options {
		options[i] = string(long[:1<<14])
	}
	c, _ := Fold(QuestionState{}, session.Snapshot{Instance: "i", ReadAt: time.Now(), Pending: &runtime.PendingInteraction{
		RequestID: "r", Kind: string(long), Prompt: string(long), Options: options,
	}}, Policy{}, time.Now())
	if p := c.Open; len(p.Prompt) > maxPrompt || len(p.Options) > maxOptions || len(p.Options[0]) > maxLabel || len(p.Kind) > maxWord {
		t.Errorf("kept %d bytes, %d options, a kind of %d bytes", len(p.Prompt), len(p.Options), len(p.Kind))
	}
}

func TestSimilarOptions(t *testing.T) {
	p := session.Pending{ID: "q-1", Request: "r", Options: []string{"2", "Yes", "yes", "Same", "Same", "No", "No way"}}
	for meant, want := range map[string]string{
		"2": "2", "3": "yes", "Yes": "Yes", "yes": "yes", "YES": "", "Same": "", "4": "4", "5": "5", "no": "No", "no w": "No way", "": "", " ": "", "8": "", "-1": "",
	} {
		got, err := choose(p, client.RespondRequest{Option: meant})
		if (err == nil) != (want != "") || got.response.Text != want {
			t.Errorf("%q chooses %q, %v; want %q", meant, got.response.Text, err, want)
		}
	}
}

func FuzzChoose(f *testing.F) {
	f.Add("1", "Yes", "No")
	f.Add("y", "yes", "yes")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, meant, a, b string) {
		p := session.Pending{ID: "q-1", Options: []string{a, b}}
		got, err := choose(p, client.RespondRequest{Option: meant})
		if err == nil && got.response.Text != a && got.response.Text != b && (a != b || got.response.Text != "1" && got.response.Text != "2") {
			t.Errorf("%q of %q chose %q", meant, p.Options, got.response.Text)
		}
	})
}
