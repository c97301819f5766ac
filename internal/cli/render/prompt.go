package render

import (
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/text"
)

// textWidth is how much of a prompt's beginning a listing shows.
const textWidth = 48

// Queue lists receipts.
func (s Sheet) Queue(receipts []client.Receipt) string {
	t := &text.Table{Heads: []string{"ID", "AGENT", "STATE", "POS", "PRIORITY", "FROM", "AGE", "WHY", "TEXT"}}
	for _, r := range receipts {
		priority := r.Priority
		if priority == "normal" {
			priority = ""
		}
		t.Add(text.Painted(r.ID, text.Bold), text.Cell{Text: r.Agent}, text.Painted(r.State, receiptColor(r.State)), number(r.Position), text.Cell{Text: priority},
			text.Cell{Text: r.Source}, text.Cell{Text: text.Span(s.Now.Sub(r.CreatedAt))}, text.Cell{Text: s.waiting(r)}, text.Painted(beginning(r.Text, textWidth), text.Faint))
	}
	return s.Table(t)
}

// waiting is why a prompt waits, or how its delivery goes.
func (s Sheet) waiting(r client.Receipt) string {
	words := Reason(r.Reason)
	if left := text.In(s.Now, r.Deadline); left != "" && r.State == client.ReceiptInjected {
		words = text.Join(words, "final in "+left+" at the latest")
	}
	return words
}

// receiptColor is the colour of a receipt's state.
func receiptColor(state string) text.Color {
	switch state {
	case client.ReceiptSubmitted, client.ReceiptConsumed:
		return text.Green
	case client.ReceiptDead, client.ReceiptUnconfirmed, client.ReceiptExpired:
		return text.Red
	case client.ReceiptCancelled:
		return text.Faint
	}
	return text.Yellow
}

// Receipt is one receipt with its steps.
func (s Sheet) Receipt(r client.Receipt) string {
	f := &facts{}
	f.add("prompt", r.ID, text.Bold)
	f.plain("agent", r.Agent)
	f.add("state", r.State, receiptColor(r.State))
	f.plain("reason", text.Plainly(r.Reason))
	f.plain("final", s.decided(r))
	f.plain("retry of", r.RetryOf)
	f.plain("by file", r.ByFile)
	f.plain("changes", strings.Join(r.Changes, "; "))
	f.plain("sent back", number(r.SentBack).Text)
	f.plain("evidence", r.Evidence)
	f.plain("position", position(r.Position))
	f.plain("priority", r.Priority)
	f.plain("from", r.Source)
	f.plain("key", r.Key)
	f.plain("for", r.Instance)
	f.plain("attempts", number(r.Attempts).Text)
	f.plain("expires", s.expiry(r))
	f.plain("files", strings.Join(r.Files, "\n"))
	f.plain("text", beginning(r.Text, 2*textWidth)+" ("+text.Count(r.Bytes, "byte")+")")
	return f.render(s) + s.steps(r)
}

// decided is by when the delivery of an injected prompt has ended.
func (s Sheet) decided(r client.Receipt) string {
	if left := text.In(s.Now, r.Deadline); left != "" {
		return "in " + left + " at the latest"
	}
	return ""
}

func position(n int) string {
	if n == 1 {
		return "next"
	}
	return number(n).Text
}

// expiry is said of what can still expire.
func (s Sheet) expiry(r client.Receipt) string {
	if r.State != client.ReceiptAccepted && r.State != client.ReceiptQueued {
		return ""
	}
	if left := text.In(s.Now, r.ExpiresAt); left != "" {
		return "in " + left
	}
	return "now"
}

// steps lists each step with the time since the first one.
func (s Sheet) steps(r client.Receipt) string {
	if len(r.Steps) == 0 {
		return ""
	}
	t := &text.Table{Heads: []string{"AT", "AFTER", "STEP", "DETAIL"}}
	for _, step := range r.Steps {
		t.Add(text.Painted(clock(step.At), text.Faint), text.Cell{Text: after(step.At.Sub(r.Steps[0].At))}, text.Painted(step.State, receiptColor(step.State)), text.Cell{Text: Reason(step.Detail)})
	}
	return "\n" + s.Table(t)
}

func after(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.3fs", d.Seconds())
	}
	return text.Span(d)
}

// Because adds a reason to a sentence, if there is one.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + Reason(reason)
}
