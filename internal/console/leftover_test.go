package console

import (
	"testing"
	"testing/synctest"
	"time"

	"gascity/runtime"
)

// What a delivery left that was cut off is taken out, and only that.
func TestDeliverAfterACutOffDelivery(t *testing.T) {
	tests := map[string]struct {
		face
		draft, leftover string
		want            runtime.OutcomeState
	}{
		"ours":                {face{style: "rules"}, "cut off before its Enter", "cut off before its Enter", runtime.OutcomeSubmitted},
		"ours, open":          {face{style: "open"}, "cut off before its Enter", "cut off before its Enter", runtime.OutcomeSubmitted},
		"ours, line":          {face{style: "line"}, "cut off before its Enter", "cut off before its Enter", runtime.OutcomeSubmitted},
		"ours, several lines": {face{style: "rules"}, "one\ntwo\nthree", "one\ntwo\nthree", runtime.OutcomeSubmitted},
		"nothing left":        {face{style: "rules"}, "", "cut off before its Enter", runtime.OutcomeSubmitted},
		"somebody's":          {face{style: "rules"}, "a draft of mine", "cut off before its Enter", runtime.OutcomeRefused},
		"ours and more":       {face{style: "rules"}, "cut off before its Enter, and mine", "cut off before its Enter", runtime.OutcomeRefused},
		"nothing known of":    {face{style: "rules"}, "cut off before its Enter", "", runtime.OutcomeRefused},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := newAgent(test.face)
				if test.draft != "" {
					agent.text(test.draft, true)
				}
				got, err := Deliver(t.Context(), agent.t, Prompt{Text: "the next prompt", Leftovers: leftovers(test.leftover)}, rulesOf(t, test.face))
				if err != nil || got.State != test.want {
					t.Fatalf("outcome %+v, %v, want %s", got, err, test.want)
				}
				time.Sleep(time.Second)
				agent.mu.Lock()
				defer agent.mu.Unlock()
				if test.want == runtime.OutcomeRefused {
					if string(agent.content) != test.draft {
						t.Errorf("the input line holds %q, want the draft %q untouched", string(agent.content), test.draft)
					}
					return
				}
				if len(agent.ledger) != 1 || agent.ledger[0] != "the next prompt" {
					t.Errorf("the agent took %q, want the next prompt alone", agent.ledger)
				}
			})
		})
	}
}

// A person who is at the line keeps it, whatever it looks like.
func TestLeftoverIsLeftToATypingPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := face{style: "rules"}
		agent := newAgent(f)
		agent.text("cut off", true)
		agent.t.human("\x00")
		got, err := Deliver(t.Context(), agent.t, Prompt{Text: "next", Leftovers: []string{"another", "cut off"}}, rulesOf(t, f))
		if err != nil || got.Reason != runtime.RefusedTyping {
			t.Errorf("outcome %+v, %v, want refused: %s", got, err, runtime.RefusedTyping)
		}
	})
}

func leftovers(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
