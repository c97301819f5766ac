package script

import (
	"bytes"
	"encoding/json"
	"time"

	"gascity/runtime"
)

// ParseOutcome parses what a script printed about a prompt. ok is false if it printed nothing or something else. An unknown
// state becomes [runtime.OutcomeUnconfirmed]: the script was called, but the outcome is unknown.
func ParseOutcome(stdout []byte) (out runtime.Outcome, ok bool) {
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 || stdout[0] != '{' {
		return runtime.Outcome{}, false
	}
	if err := json.Unmarshal(stdout, &out); err != nil || out.State == "" {
		return runtime.Outcome{}, false
	}
	switch out.State {
	case runtime.OutcomeSubmitted, runtime.OutcomeUnconfirmed, runtime.OutcomeRefused, runtime.OutcomeAbsent, runtime.OutcomeUnsupported:
	default:
		out.Detail = "the script reported the unknown state " + string(out.State)
		out.State = runtime.OutcomeUnconfirmed
	}
	if out.State != runtime.OutcomeRefused {
		out.Reason = ""
	}
	return out, true
}

// Delivery is the document on standard input of deliver and settle.
type Delivery struct {
	ID        string                 `json:"id,omitempty"`
	Instance  string                 `json:"instance,omitempty"`
	Content   []runtime.ContentBlock `json:"content"`
	ConfirmMs int64                  `json:"confirm_ms,omitempty"`
	// AllowChanges and Literal are those of [runtime.Delivery].
	AllowChanges bool `json:"allow_changes,omitempty"`
	Literal      bool `json:"literal,omitempty"`
}

// NewDelivery returns the document for d.
func NewDelivery(d runtime.Delivery) Delivery {
	return Delivery{ID: d.ID, Instance: d.Instance, Content: d.Content, ConfirmMs: d.Confirm.Milliseconds(), AllowChanges: d.AllowChanges, Literal: d.Literal}
}

// Delivery returns the delivery that the document describes.
func (d Delivery) Delivery() runtime.Delivery {
	return runtime.Delivery{ID: d.ID, Instance: d.Instance, Content: d.Content, Confirm: time.Duration(d.ConfirmMs) * time.Millisecond, AllowChanges: d.AllowChanges, Literal: d.Literal}
}
