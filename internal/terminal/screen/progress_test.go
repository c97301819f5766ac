package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gascity/internal/agentcli"
)

// A screen shows progress when it shows a row that is new: a spinner, a clock, a counter of
// seconds, a retry that counts, rows that move, and the row of a running turn in other words are
// none; text, a higher count of tokens and a percentage are.
func TestProgressOfAScreen(t *testing.T) {
	pattern, err := agentcli.NewPattern("esc to cancel")
	if err != nil {
		t.Fatal(err)
	}
	busy := []agentcli.Pattern{pattern}
	frameOf := func(text string) Frame { return Frame{Rows: strings.Split(text, "\n")} }
	tests := map[string]struct {
		before, after string
		want          bool
	}{
		"the same":            {"● Read file", "● Read file", false},
		"new text":            {"● Read file", "● Read file\n  then wrote", true},
		"a text that grows":   {"The answer", "The answer is", true},
		"a spinner":           {"⠋ Working", "⠙ Working", false},
		"a counter":           {"✻ Pondering… (12s · esc to interrupt)", "✻ Pondering… (13s · esc to interrupt)", false},
		"tokens":              {"✻ Pondering… (12s · ↓ 1.2k tokens · esc)", "✻ Pondering… (12s · ↓ 1.3k tokens · esc)", true},
		"other words of turn": {"Counting electrons (esc to cancel, 1s)", "Polishing pixels (esc to cancel, 2s)", false},
		"a clock":             {"main  12:45:03", "main  12:45:04", false},
		"a percentage":        {"downloading 10%", "downloading 11%", true},
		"dots":                {"Loading.", "Loading...", false},
		"rows that move":      {"one\ntwo", "\none\ntwo", false},
		"an attempt":          {"retrying in 6s · attempt 5/10", "retrying in 5s · attempt 6/10", false},
		"the end of a row":    {"> ", "> text", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var m Memory
			rules := Rules{Screen: agentcli.Screen{Busy: busy}}
			at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
			first := m.Progress("s", "life", frameOf(test.before), rules, at)
			if !first.At.Equal(at) || !first.Screen {
				t.Fatalf("the first screen is %+v", first)
			}
			later := at.Add(time.Minute)
			if got := m.Progress("s", "life", frameOf(test.after), rules, later).At.Equal(later); got != test.want {
				t.Errorf("from %q to %q is progress: %v, want %v", test.before, test.after, got, test.want)
			}
			if got := m.Progress("s", "life", frameOf(test.before), rules, later.Add(time.Minute)); got.At.After(later) {
				t.Errorf("a screen that was there before is progress at %s", got.At)
			}
			if got := m.Progress("s", "other", frameOf(test.before), rules, later.Add(time.Hour)); !got.At.Equal(later.Add(time.Hour)) {
				t.Errorf("the first screen of another life is of %s", got.At)
			}
		})
	}
}

// However long a screen goes on with new rows, what is remembered of it is bounded.
func TestProgressOfAScreenIsBounded(t *testing.T) {
	var m Memory
	frameOf := func(text string) Frame { return Frame{Rows: strings.Split(text, "\n")} }
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for i := range 3 * maxShown {
		word := fmt.Sprintf("%c%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576%26)
		now := at.Add(time.Duration(i) * time.Second)
		if got := m.Progress("s", "life", frameOf(word), Rules{}, now); !got.At.Equal(now) {
			t.Fatalf("row %d is no progress", i)
		}
	}
	if n := len(m.shown["s"].rows); n > maxShown+50 {
		t.Errorf("%d rows are remembered", n)
	}
}
