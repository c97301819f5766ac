package client

import (
	"errors"
	"testing"
)

func TestReceiptsReachWhatIsWaitedFor(t *testing.T) {
	for state, want := range map[string]struct{ submitted, consumed bool }{
		ReceiptAccepted:    {false, false},
		ReceiptQueued:      {false, false},
		ReceiptInjected:    {false, false},
		ReceiptSubmitted:   {true, false},
		ReceiptConsumed:    {true, true},
		ReceiptUnconfirmed: {true, true}, // ended otherwise: nothing to wait for
		ReceiptDead:        {true, true},
		ReceiptExpired:     {true, true},
		ReceiptCancelled:   {true, true},
	} {
		r := Receipt{State: state}
		if r.Reached(ReceiptSubmitted) != want.submitted || r.Reached(ReceiptConsumed) != want.consumed {
			t.Errorf("%s: reached submitted %v, consumed %v, want %v", state, r.Reached(ReceiptSubmitted), r.Reached(ReceiptConsumed), want)
		}
	}
}

// TestTextThatJSONWouldChangeIsRefused: nothing is sent, so no controller is
// asked.
func TestTextThatJSONWouldChangeIsRefused(t *testing.T) {
	c := &Client{Root: t.TempDir()}
	text := "\xff"
	if _, err := c.Nudge(t.Context(), "worker", NudgeRequest{Text: text}); !errors.Is(err, ErrInvalid) {
		t.Errorf("the prompt is refused with %v, want %v", err, ErrInvalid)
	}
	if _, err := c.EditPrompt(t.Context(), "p", EditRequest{Text: &text}); !errors.Is(err, ErrInvalid) {
		t.Errorf("the edit is refused with %v, want %v", err, ErrInvalid)
	}
}
