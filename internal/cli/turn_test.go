package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/runtime"
)

// happened turns words into events, one a second: "took" a prompt, "exited", or an
// activity.
func happened(words string) []client.Event {
	var events []client.Event
	for i, word := range strings.Fields(words) {
		e := client.Event{Time: time.Unix(int64(i), 0), Kind: string(event.SessionActivity), Data: map[string]string{"activity": word}}
		switch word {
		case "took":
			e.Kind, e.Data = string(event.PromptSubmitted), nil
		case "exited":
			e.Kind, e.Data = string(event.SessionExited), nil
		}
		events = append(events, e)
	}
	return events
}

func TestTurns(t *testing.T) {
	for words, want := range map[string][][2]int64{ // the seconds of begin and end; -1 goes on
		"":                                  nil,
		"idle waiting unknown exited":       nil,
		"took busy idle":                    {{0, 2}},
		"busy took idle":                    {{0, 2}}, // its being busy was the evidence
		"took busy took idle":               {{0, 3}}, // the second one was taken while it worked
		"took busy waiting busy idle":       {{0, 4}},
		"took busy background":              {{0, 2}},
		"took busy unknown busy idle":       {{0, 4}},
		"took took took":                    {{0, 1}, {1, 2}, {2, -1}}, // it never reports
		"took ready took ready":             {{0, 2}, {2, -1}},
		"took busy ready took busy":         {{0, 2}, {3, -1}},
		"took busy idle busy idle":          {{0, 2}, {3, 4}},
		"took busy exited took busy exited": {{0, 2}, {3, 5}},
		"took busy limited idle":            {{0, 2}},
	} {
		var got [][2]int64
		for _, each := range turns(happened(words)) {
			end := int64(-1)
			if !each.end.IsZero() {
				end = each.end.Unix()
			}
			got = append(got, [2]int64{each.begin.Unix(), end})
		}
		if len(got) != len(want) {
			t.Errorf("%q: turns %v, want %v", words, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q: turns %v, want %v", words, got, want)
				break
			}
		}
	}
}

// TestTurnsNeverOverlap holds for whatever happens: turns follow each other, only the
// last one may go on, and each prompt that was taken lies in one.
func TestTurnsNeverOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{
			"took", "exited", string(runtime.ActivityBusy), string(runtime.ActivityIdle), string(runtime.ActivityReady),
			string(runtime.ActivityWaiting), string(runtime.ActivityUnknown), string(runtime.ActivityBackground), string(runtime.ActivityLimited), "later",
		})
		events := happened(strings.Join(rapid.SliceOfN(word, 0, 20).Draw(t, "words"), " "))
		found := turns(events)
		for i, each := range found {
			last := i == len(found)-1
			if each.end.IsZero() && !last || !last && found[i+1].begin.Before(each.end) || !each.end.IsZero() && each.end.Before(each.begin) {
				t.Fatalf("turns %v", found)
			}
		}
		for _, e := range events {
			within := false
			for _, each := range found {
				within = within || !e.Time.Before(each.begin) && (each.end.IsZero() || !e.Time.After(each.end))
			}
			if event.Kind(e.Kind) == event.PromptSubmitted && !within {
				t.Fatalf("the prompt at %v is in none of %v", e.Time, found)
			}
		}
	})
}

func TestATurnThatIsNotRemembered(t *testing.T) {
	for words, n := range map[string]int{"": 1, "took busy idle": 2} {
		if _, err := nthTurn("worker", happened(words), n); !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), "worker") {
			t.Errorf("turn %d of %q: %v, want one that is not found", n, words, err)
		}
	}
	if got, err := nthTurn("worker", happened("took busy idle took busy idle"), 2); err != nil || got.begin.Unix() != 0 {
		t.Errorf("the second last turn is %v, %v", got, err)
	}
}
